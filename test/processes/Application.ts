import { Effect } from "effect"
import { challenge, form, redirectUri, verifier } from "../given/flow.ts"
import { field, type Reply } from "./Reply.ts"
import type { ServerProcess } from "./ServerProcess.ts"

export { challenge, redirectUri, verifier }

/** A registered application, as it was answered. */
export interface Application {
  readonly id: string
  readonly secret: string
  readonly registrationToken: string
}

export const register = Effect.fnUntraced(function* (
  server: ServerProcess,
  metadata: Readonly<Record<string, unknown>> = {}
): Effect.fn.Return<Application> {
  const reply = yield* server.post(
    "/oauth/register",
    JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "client_secret_post", ...metadata }),
    { "content-type": "application/json" }
  )
  if (reply.status !== 201) throw new Error(`registration answered ${reply.status}: ${reply.body}`)
  return {
    id: field(reply, "client_id"),
    secret: field(reply, "client_secret"),
    registrationToken: field(reply, "registration_access_token")
  }
})

type Asking = (server: ServerProcess, application: Application, text: string) => Effect.Effect<Reply>

const token = (server: ServerProcess, { id, secret }: Application, fields: Readonly<Record<string, string>>) =>
  server.post("/oauth/token", form({ client_id: id, client_secret: secret, ...fields }))

export const redeem: Asking = (server, application, code) =>
  token(server, application, {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier
  })

export const refresh: Asking = (server, application, refreshToken) =>
  token(server, application, { grant_type: "refresh_token", refresh_token: refreshToken })

export const clientCredentials = (server: ServerProcess, application: Application) =>
  token(server, application, { grant_type: "client_credentials" })

export const revoke: Asking = (server, { id, secret }, text) =>
  server.post("/oauth/revoke", form({ client_id: id, client_secret: secret, token: text }))

export const userinfo = (server: ServerProcess, accessToken: string) =>
  server.get("/oauth/userinfo", { authorization: `Bearer ${accessToken}` })

export const companies = (server: ServerProcess, accessToken: string) =>
  server.get("/rest/companies", { authorization: `Bearer ${accessToken}` })
