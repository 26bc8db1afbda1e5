import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import {
  authorizeTarget,
  decide,
  header,
  jsonHeaders,
  redeem,
  redirectUri,
  registerClient,
  returned,
  type TestClient,
  text,
  tokensOf
} from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

/** RFC 7592 §2.2, by the client itself, at a moment of its choosing. */
const change = (world: World, client: TestClient, metadata: Readonly<Record<string, unknown>>) =>
  world.send("PUT", new URL(client.registrationUri).pathname, {
    headers: { ...jsonHeaders, authorization: `Bearer ${client.registrationToken}` },
    body: JSON.stringify({
      client_id: client.id,
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
      ...metadata
    })
  })

describe("a client that changes itself while a person reads the consent page", () => {
  test("gets nothing that the page did not show", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { scope: "profile" })
        const page = yield* world.send("GET", authorizeTarget(client, { scope: "api profile" }), { as: "alice" })
        expect(page.body).toContain("profile")
        expect(page.body).not.toContain("Read and change data through the API")

        expect((yield* change(world, client, { scope: "api profile" })).status).toBe(200)
        const answer = yield* decide(world, page, "approve")
        expect(answer.status).toBe(403)
        expect(header(answer, "location")).toBeUndefined()
        expect(world.calls.insert.filter((kind) => kind === "grant")).toEqual([])
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "ForgedForm", reason: "ticket" })
      })
    ))

  test("is not approved under a name that nobody read", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { client_name: "Photo Album" })
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        yield* change(world, client, { client_name: "Payroll" })
        expect((yield* decide(world, page, "approve")).status).toBe(403)
      })
    ))

  test("is not approved as an owner's where it has become its own", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const known = yield* world.parts.clients.list(world.workspace.id, { after: undefined, limit: 1 })
        for (const { id } of known.values) {
          yield* world.parts.clients.change(world.workspace.id, id, (stored) => ({ ...stored, madeBy: "owner" }))
        }
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        expect(page.body).not.toContain("registered itself")
        expect((yield* change(world, client, {})).status).toBe(200)
        expect((yield* decide(world, page, "approve")).status).toBe(403)
      })
    ))

  test("is approved as before if what the page showed still holds", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { client_name: "Photo Album" })
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        yield* change(world, client, { client_name: "Photo Album", client_uri: "https://photos.example.org" })
        const answer = yield* decide(world, page, "approve")
        const issued = yield* redeem(world, client, text(returned(answer).get("code")))
        expect(tokensOf(issued).scope).toBe("api")
      })
    ))
})
