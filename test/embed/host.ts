import { Effect, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as memory from "../../adapters/memory/Memory.ts"
import { type CreateOptions, createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { hiddenFields } from "../given/flow.ts"
import { t0 } from "../given/World.ts"

export const aKey = "A".repeat(43)
export const redirectUri = "https://app.example/callback"

/** Ada is signed in with the cookie `session=ada`, and so is any other person with a name in lower case. */
export const people: CreateOptions["owner"] = {
  signedIn: ({ headers }) => {
    const name = /(?:^|; )session=([a-z]+)/.exec(headers.get("cookie") ?? "")?.[1]
    return name === undefined ? undefined : { user: name, session: `session of ${name}` }
  },
  signInAt: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
  profile: async (user) => (user === "gone" ? undefined : { name: user.toUpperCase() })
}

export const issuer = "http://127.0.0.1:3000"

export const options = (over: Partial<CreateOptions> = {}): CreateOptions => ({
  issuer,
  storage: memory.layer,
  keys: aKey,
  owner: people,
  log: "none",
  ...over
})

/** A clock in the test's hand. */
export const testClock = async () => {
  const clock = await Effect.runPromise(Scope.provide(TestClock.make({ warningDelay: "1 hour" }), Scope.makeUnsafe()))
  await Effect.runPromise(clock.setTime(t0))
  return {
    clock,
    /** Milliseconds later, with everything done that was to be done by then. */
    wait: (millis: number) => Effect.runPromise(clock.adjust(millis))
  }
}

/** A host that is closed again, whatever comes of the test. */
export const withHost = async (over: Partial<CreateOptions>, body: (auth: EmbeddedTessera) => Promise<void>) => {
  const auth = createTessera(options(over))
  try {
    await body(auth)
  } finally {
    await auth.close()
  }
}

export const formed = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
  body: new URLSearchParams(fields).toString()
})

/** A machine of the workspace's own, and the tokens that it gets. */
export const machine = async (auth: EmbeddedTessera) => {
  const { client, secret } = await auth.clients.register({
    client_name: "Machine",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const token = async (resource?: string): Promise<string> => {
    const response = await auth.handle(
      new Request(
        `${auth.issuer}/oauth/token`,
        formed({
          grant_type: "client_credentials",
          client_id: client.id,
          client_secret: secret ?? "",
          ...(resource === undefined ? {} : { resource })
        })
      )
    )
    // The shape is RFC 6749's; where it is not, what reads it fails.
    const { access_token } = (await response.json()) as { readonly access_token: string }
    return access_token
  }
  const revoke = (token: string) =>
    auth.handle(
      new Request(`${auth.issuer}/oauth/revoke`, formed({ token, client_id: client.id, client_secret: secret ?? "" }))
    )
  return { client, secret: secret ?? "", token, revoke }
}

const app = {
  client_name: "App",
  redirect_uris: [redirectUri],
  token_endpoint_auth_method: "client_secret_post"
} as const

/** An application that registers itself, as far as `letIn` looks at it. */
export const registersItself = async (auth: EmbeddedTessera) => {
  const headers = { "content-type": "application/json" }
  const asked = new Request(`${auth.issuer}/oauth/register`, { method: "POST", headers, body: JSON.stringify(app) })
  // The shape is RFC 7591's; where it is not, what reads it fails.
  const made = (await (await auth.handle(asked)).json()) as Record<"client_id" | "client_secret", string>
  return { client: { id: made.client_id }, secret: made.client_secret }
}

/** What a person does who lets an application in, at the consent page and back. */
export const letIn = async (
  auth: EmbeddedTessera,
  person: string,
  scope = "api",
  more: Readonly<Record<string, string>> = {},
  registered: Readonly<Record<string, string>> = {}
) => letInAs(auth, person, await auth.clients.register({ ...app, ...registered }), scope, more)

/** The same for an application that is registered already. */
export const letInAs = async <C extends { readonly id: string }>(
  auth: EmbeddedTessera,
  person: string,
  { client, secret }: { readonly client: C; readonly secret: string | undefined },
  scope = "api",
  more: Readonly<Record<string, string>> = {}
) => {
  const cookie = `session=${person}`
  const named = { response_type: "code", client_id: client.id, redirect_uri: redirectUri, scope }
  const asked = new URLSearchParams({ ...named, ...more })
  const page = await auth.handle(new Request(`${auth.issuer}/oauth/authorize?${asked}`, { headers: { cookie } }))
  const fields = hiddenFields(await page.text())
  const answer = await auth.handle(
    new Request(`${auth.issuer}/consent`, formed({ ...fields, decision: "approve" }, { cookie, origin: auth.issuer }))
  )
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? ""
  const redeem = (code: string) =>
    auth.handle(
      new Request(
        `${auth.issuer}/oauth/token`,
        formed({
          grant_type: "authorization_code",
          code,
          redirect_uri: redirectUri,
          client_id: client.id,
          client_secret: secret ?? ""
        })
      )
    )
  const response = await redeem(code)
  // The shape is RFC 6749's; where it is not, what reads it fails.
  const { access_token, refresh_token } = (await response.json()) as {
    readonly access_token: string
    readonly refresh_token: string
  }
  /** The status that comes of refreshing. */
  const refreshes = async () => {
    const fields = { refresh_token, client_id: client.id, client_secret: secret ?? "" }
    const sent = formed({ grant_type: "refresh_token", ...fields })
    return (await auth.handle(new Request(`${auth.issuer}/oauth/token`, sent))).status
  }
  return { client, code, redeem, access: access_token, refresh: refresh_token, refreshes }
}

export const bearer = (url: string, token: string): Request =>
  new Request(url, { headers: { authorization: `Bearer ${token}` } })
