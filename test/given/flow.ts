import { Effect } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { Sent, World } from "./World.ts"

/** A registered client. */
export interface TestClient {
  readonly id: string
  readonly secret: string | undefined
  readonly redirectUri: string
  readonly registrationUri: string
  readonly registrationToken: string
}

/** The values of a form; one that is a list comes once for each of its items. */
export type Values = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export const form = (fields: Values): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]))
  ).toString()

export const formHeaders = { "content-type": "application/x-www-form-urlencoded" } as const
export const jsonHeaders = { "content-type": "application/json" } as const

export const header = (response: HttpResponse, name: string): string | undefined =>
  response.headers.find(([written]) => written === name)?.[1]

// A wrong shape fails the test's assertions.
export const jsonOf = (response: HttpResponse): Record<string, unknown> =>
  JSON.parse(response.body) as Record<string, unknown>

export const text = (value: unknown): string => {
  if (typeof value !== "string") throw new Error(`not a text: ${String(value)}`)
  return value
}

export const redirectUri = "https://app.example.org/callback"

/** A public client that goes by an address, or by what it brings, and never registered here. */
export const unregistered = (id: string): TestClient => ({
  id,
  secret: undefined,
  redirectUri,
  registrationUri: "",
  registrationToken: ""
})

/** What the endpoint answers to a registration that may be refused. */
export const postRegistration = (server: Pick<World, "send">, metadata: object) =>
  server.send("POST", "/oauth/register", { headers: jsonHeaders, body: JSON.stringify(metadata) })

export const registerClient = Effect.fnUntraced(function* (
  world: Pick<World, "send">,
  metadata: Readonly<Record<string, unknown>> = {},
  sent: Sent = {}
): Effect.fn.Return<TestClient> {
  const body = JSON.stringify({
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "client_secret_post",
    ...metadata
  })
  const response = yield* world.send("POST", "/oauth/register", {
    ...sent,
    headers: { ...jsonHeaders, ...sent.headers },
    body
  })
  if (response.status !== 201) throw new Error(`registration answered ${response.status}: ${response.body}`)
  const registered = jsonOf(response)
  return {
    id: text(registered.client_id),
    secret: registered.client_secret === undefined ? undefined : text(registered.client_secret),
    redirectUri: Array.isArray(registered.redirect_uris) ? String(registered.redirect_uris[0] ?? "") : "",
    registrationUri: text(registered.registration_client_uri),
    registrationToken: text(registered.registration_access_token)
  }
})

/** As if a person had let the client in before. */
export const prove = (world: World, client: TestClient) =>
  world.services.clients.change(world.workspace.id, ClientId.make(client.id), (stored) => ({
    ...stored,
    provenAt: stored.createdAt,
    expiresAt: null
  }))

export const provenClient = Effect.fnUntraced(function* (
  world: World,
  metadata: Readonly<Record<string, unknown>> = {}
) {
  const client = yield* registerClient(world, metadata)
  yield* prove(world, client)
  return client
})

export const verifier = "a-code-verifier-of-at-least-43-characters-~._"
export const challenge: string = digestOf(verifier)

export const authorizeTarget = (client: TestClient, fields: Values = {}): string =>
  `/oauth/authorize?${form({
    response_type: "code",
    client_id: client.id,
    redirect_uri: client.redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "st",
    ...fields
  })}`

/** The hidden fields of a page's form, and the boxes that have to be ticked. */
export const hiddenFields = (page: string): Record<string, string> => {
  const fields: Record<string, string> = {}
  for (const [tag] of page.matchAll(/<input type="hidden"[^>]*>|<input [^>]*type="checkbox"[^>]* required[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1] ?? ""
    fields[name] = plainText(/value="([^"]*)"/.exec(tag)?.[1] ?? "")
  }
  return fields
}

const plainText = (html: string): string =>
  html
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

export const decide = (world: World, page: HttpResponse, decision: "approve" | "deny", as = "alice", host?: string) =>
  world.send("POST", "/consent", {
    as,
    ...(host === undefined ? {} : { host }),
    headers: formHeaders,
    body: form({ ...hiddenFields(page.body), decision })
  })

/** The parameters of a redirect back to the client. */
export const returned = (response: HttpResponse): URLSearchParams =>
  new URL(text(header(response, "location"))).searchParams

export const codeFor = Effect.fnUntraced(function* (
  world: World,
  client: TestClient,
  fields: Values = {},
  as = "alice"
) {
  const page = yield* world.send("GET", authorizeTarget(client, fields), { as })
  const response = yield* decide(world, page, "approve", as)
  return text(returned(response).get("code"))
})

export const tokenRequest = (world: Pick<World, "send">, client: TestClient, fields: Values) =>
  world.send("POST", "/oauth/token", {
    headers: formHeaders,
    body: form({ client_id: client.id, client_secret: client.secret, ...fields })
  })

export const redeem = (world: Pick<World, "send">, client: TestClient, code: string, fields: Values = {}) =>
  tokenRequest(world, client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: client.redirectUri,
    code_verifier: verifier,
    ...fields
  })

export const refresh = (world: World, client: TestClient, token: string, fields: Values = {}) =>
  tokenRequest(world, client, { grant_type: "refresh_token", refresh_token: token, ...fields })

/** What a client asks and does about a token, by its secret if it has one. */
const about =
  (path: string) =>
  (server: Pick<World, "send">, { id, secret }: Pick<TestClient, "id" | "secret">, token: string | undefined) =>
    server.send("POST", path, { headers: formHeaders, body: form({ client_id: id, client_secret: secret, token }) })

export const introspectBy = about("/oauth/introspect")
export const revokeBy = about("/oauth/revoke")

export interface TestTokens {
  readonly access: string
  readonly refresh: string
  readonly scope: string
}

export const tokensOf = (response: HttpResponse): TestTokens => {
  if (response.status !== 200) throw new Error(`the token endpoint answered ${response.status}: ${response.body}`)
  const body = jsonOf(response)
  return { access: text(body.access_token), refresh: text(body.refresh_token), scope: text(body.scope) }
}

export const signInToApp = Effect.fnUntraced(function* (
  world: World,
  client: TestClient,
  fields: Values = {},
  as = "alice"
) {
  return tokensOf(yield* redeem(world, client, yield* codeFor(world, client, fields, as)))
})

export const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

export const companies = (world: World, token: string) =>
  world.send("GET", "/rest/companies", { headers: bearing(token) })

/** As the OpenID Foundation's modules measure a code, a token or a request_uri: by its length, and by its own letters. */
export const isUnguessable = (drawn: string): boolean => {
  const counts = new Map<string, number>()
  for (const letter of drawn) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  const bits = [...counts.values()].reduce((sum, n) => sum - n * Math.log2(n / drawn.length), 0)
  return drawn.length * 6 >= 128 && bits > 96
}
