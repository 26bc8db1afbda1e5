import { Effect } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { form } from "../given/flow.ts"
import { redirectUri } from "./Application.ts"
import { field } from "./Reply.ts"
import { issuer, type ServerProcess } from "./ServerProcess.ts"

/** A client that signs, as one of the processes registered it. */
export const registerSigner = Effect.fnUntraced(function* (server: ServerProcess) {
  const { privateKey, publicKey } = yield* Effect.promise(() => generateKeyPair("ES256"))
  const jwk = yield* Effect.promise(() => exportJWK(publicKey))
  const metadata = {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] }
  }
  const headers = { "content-type": "application/json" }
  const reply = yield* server.post("/oauth/register", JSON.stringify(metadata), headers)
  if (reply.status !== 201) throw new Error(`registration answered ${reply.status}: ${reply.body}`)
  const id = field(reply, "client_id")
  return {
    id,
    assertion: Effect.promise(() =>
      new SignJWT({ iss: id, sub: id, aud: issuer, jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: "ES256" })
        .setIssuedAt()
        .setExpirationTime("1 minute")
        .sign(privateKey)
    ),
    form: (assertion: string, fields: Readonly<Record<string, string>>): string =>
      form({ client_assertion_type: assertionType, client_assertion: assertion, ...fields })
  }
})
