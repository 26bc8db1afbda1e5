import { describe, expect, test } from "bun:test"
import type { CreateOptions } from "../../runtimes/embed/tessera.ts"
import { bearer, issuer, letIn, people, redirectUri, withHost } from "./host.ts"

const authorize = async (owner: CreateOptions["owner"], headers: Record<string, string> = {}) => {
  let answered: Response | undefined
  await withHost({ owner }, async (auth) => {
    const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
    const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
    answered = await auth.handle(new Request(`${issuer}/oauth/authorize?${asked}`, { headers }))
  })
  if (answered === undefined) throw new Error("nobody answered")
  return answered
}

const ada = { user: "ada", session: "s" }

describe("a host's people", () => {
  test("are sent to the host's sign-in and back", async () => {
    const response = await authorize(people)
    expect(response.status).toBe(303)
    const place = new URL(response.headers.get("location") ?? "", issuer)
    expect(place.pathname).toBe("/sign-in")
    expect(place.searchParams.get("return_to")).toStartWith("/oauth/authorize?")
  })

  test("may be told by a value or by a promise, and nobody by undefined or null", async () => {
    expect((await authorize({ ...people, signedIn: () => ada })).status).toBe(200)
    expect((await authorize({ ...people, signedIn: async () => ada })).status).toBe(200)
    expect((await authorize({ ...people, signedIn: async () => null })).status).toBe(303)
    expect((await authorize({ ...people, signedIn: () => undefined })).status).toBe(303)
  })

  test("are known by the framework's own request, with what middleware put there", async () => {
    const session = new WeakMap<object, typeof ada>()
    const owner: CreateOptions["owner"] = {
      ...people,
      signedIn: ({ native }) => (typeof native === "object" && native !== null ? session.get(native) : undefined)
    }
    await withHost({ owner }, async (auth) => {
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
      const request = new Request(`${issuer}/oauth/authorize?${asked}`)
      expect((await auth.handle(request)).status).toBe(303)
      session.set(request, ada)
      expect((await auth.handle(request)).status).toBe(200)
    })
  })

  for (const [trouble, signedIn] of [
    ["throws", () => Promise.reject(new Error("secret of the session store"))],
    [
      "throws at once",
      () => {
        throw new Error("secret of the session store")
      }
    ],
    ["says a user that is no id", () => ({ user: "with space", session: "s" })],
    ["says no session", () => ({ user: "ada", session: "" })]
  ] as const) {
    test(`a host that ${trouble} is answered for with 503 and none of its words`, async () => {
      const response = await authorize({ ...people, signedIn })
      expect(response.status).toBe(503)
      expect(await response.text()).not.toContain("secret of the session store")
    })
  }

  test("have a profile where the host tells one, and none once they are gone", async () => {
    const told = async (owner: CreateOptions["owner"], person: string) => {
      let answer: { status: number; body: unknown } | undefined
      await withHost({ owner }, async (auth) => {
        const { access } = await letIn(auth, person, "profile")
        const response = await auth.handle(bearer(`${issuer}/oauth/userinfo`, access))
        answer = { status: response.status, body: response.status === 200 ? await response.json() : undefined }
      })
      return answer
    }
    expect(await told(people, "ada")).toEqual({ status: 200, body: { sub: "ada", name: "ADA" } })
    expect(await told(people, "gone")).toMatchObject({ status: 401 })
    const { signInAt, signedIn } = people
    expect(await told({ signInAt, signedIn }, "ada")).toEqual({ status: 200, body: { sub: "ada" } })
  })
})
