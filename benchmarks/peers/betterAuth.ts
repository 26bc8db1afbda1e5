import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { oauthProvider } from "@better-auth/oauth-provider"
import { betterAuth, type SecondaryStorage } from "better-auth"
import { memoryAdapter } from "better-auth/adapters/memory"
import { getMigrations } from "better-auth/db/migration"
import { toNodeHandler } from "better-auth/node"
import { jwt } from "better-auth/plugins"
import { argument, obey, portOf, redirectUri } from "../servers/serving.ts"
import { codeChallenge, onNode, plansOf } from "./peer.ts"

const origin = "http://127.0.0.1:3000"
const base = "/api/auth"

/** Its adapter in memory keeps rows in arrays and looks through them; SQLite in memory has indexes and costs a driver. */
const rows: Record<string, Array<Record<string, unknown>>> = {}
for (const model of [
  "user",
  "session",
  "account",
  "oauthClient",
  "oauthAccessToken",
  "oauthRefreshToken",
  "oauthConsent",
  "oauthResource",
  "oauthClientResource",
  "oauthClientAssertion",
  "jwks"
]) {
  rows[model] = []
}

const url = argument("postgres", "")
/** Clients that it need not read each time. */
const trusted = new Set<string>()

/**
 * Its secondary storage, over a Map. Codes lie there and not among the rows: to redeem one of those, the adapter in memory
 * copies all that is stored, twice.
 */
const secondary = new Map<string, string>()
const inMap: SecondaryStorage = {
  get: (key) => secondary.get(key),
  getAndDelete: (key) => {
    const value = secondary.get(key)
    secondary.delete(key)
    return value
  },
  increment: (key) => {
    const value = Number(secondary.get(key) ?? 0) + 1
    secondary.set(key, String(value))
    return value
  },
  set: (key, value) => void secondary.set(key, value),
  delete: (key) => void secondary.delete(key)
}

const stores = {
  memory: async () => ({
    database: memoryAdapter(rows),
    secondaryStorage: inMap,
    // What the plugin demands beside a secondary storage.
    session: { storeSessionInDatabase: true }
  }),
  sqlite: async () => ({
    database: onNode
      ? new (await import("node:sqlite")).DatabaseSync(":memory:")
      : new (await import("bun:sqlite")).Database(":memory:")
  }),
  postgres: async () => ({ database: new (await import("pg")).Pool({ connectionString: url }) })
}

const kind = url !== "" ? "postgres" : argument("database", "memory") === "sqlite" ? "sqlite" : "memory"

const auth = betterAuth({
  baseURL: origin,
  secret: randomBytes(32).toString("hex"),
  ...(await stores[kind]()),
  emailAndPassword: { enabled: true },
  // What a load test has to switch off, as in all the others.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: "error" },
  // Access tokens are opaque, since none is asked for with a `resource`. Without this plugin, which is recommended, client
  // secrets would be kept encrypted and not hashed, and each request would decrypt one.
  plugins: [
    jwt(),
    oauthProvider({
      loginPage: "/login",
      consentPage: "/consent",
      cachedTrustedClients: trusted,
      scopes: ["openid", "profile", "email", "offline_access", "api"],
      grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
      clientPrivileges: async () => true
    })
  ]
})

if (kind !== "memory") await (await getMigrations(auth.options)).runMigrations()

const signedUp = await auth.api.signUpEmail({
  body: { name: "Alice", email: "alice@example.com", password: randomBytes(16).toString("hex") },
  returnHeaders: true
})
const cookie = signedUp.headers
  .getSetCookie()
  .map((line) => line.split(";", 1)[0])
  .join("; ")
const headers = new Headers({ cookie, origin })

const client = await auth.api.adminCreateOAuthClient({
  headers,
  body: {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", "client_credentials"],
    response_types: ["code"],
    token_endpoint_auth_method: "client_secret_post",
    scope: "offline_access api",
    client_credentials_scopes: ["api"],
    skip_consent: true
  }
})
trusted.add(client.client_id)
const credentials = { client_id: client.client_id, client_secret: client.client_secret ?? "" }

const { adapter } = await auth.$context
/** Access tokens refer to refresh tokens, so they go first. With a secondary storage there is no table for codes. */
const models = ["oauthAccessToken", "oauthRefreshToken", ...(kind === "memory" ? [] : ["verification"])]

/** Tokens of the run before would only be in the way of its searches. */
const clear = async () => {
  secondary.clear()
  for (const model of models) await adapter.deleteMany({ model, where: [] })
}

/** Through its own authorization endpoint: the person is signed in, the client needs no consent. */
const codes = async (count: number) => {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: "offline_access api",
    state: "state-of-the-benchmark",
    code_challenge: codeChallenge,
    code_challenge_method: "S256"
  })
  const made: Array<string> = []
  for (let i = 0; i < count; i++) {
    const answer = await auth.handler(new Request(`${origin}${base}/oauth2/authorize?${query}`, { headers }))
    const code = new URL(answer.headers.get("location") ?? origin).searchParams.get("code")
    if (code === null) throw new Error(`no code: ${answer.status} ${await answer.text()}`)
    made.push(code)
  }
  return made
}

const startOnBun = (): number =>
  Bun.serve({ hostname: "127.0.0.1", port: 0, development: false, fetch: auth.handler }).port ?? 0

const port = onNode ? await portOf(createServer(toNodeHandler(auth))) : startOnBun()
const plans = plansOf(
  { token: `${base}/oauth2/token`, introspection: `${base}/oauth2/introspect` },
  { codes, clear, scope: "api", credentials }
)
await obey(port, ({ workload, count }) => plans(workload, count, `http://127.0.0.1:${port}`))
