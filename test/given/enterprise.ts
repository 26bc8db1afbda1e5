import { Effect } from "effect"
import { CompactSign, exportJWK, generateKeyPair } from "jose"
import { checkRegistration } from "../../core/client/RegistrationRequest.ts"
import { registerClient as addClient } from "../../core/engine/administerClients.ts"
import { jwtBearer } from "../../core/oauth/grants/jwtBearer.ts"
import { byOwner } from "./auditContext.ts"
import type { TestClient } from "./flow.ts"
import { t0, theWorkspace, type World } from "./World.ts"

/** Whom an owner trusts to say who somebody is. */
export const login = "https://login.acme.example"
const { issuer } = theWorkspace
export const seconds = t0 / 1000

const keyNamed = async (kid: string) => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  return { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), kid } }
}
export type Signer = Awaited<ReturnType<typeof keyNamed>>

/** Its key, and one of somebody else. */
export const [own, foreign] = await Promise.all([keyNamed("one"), keyNamed("two")])

export const signed = (
  claims: object,
  header: object = {},
  by: Signer = own,
  write: (claims: object) => string = JSON.stringify
) =>
  Effect.promise(() =>
    new CompactSign(new TextEncoder().encode(write(claims)))
      .setProtectedHeader({ alg: "ES256", kid: by.jwk.kid, typ: "oauth-id-jag+jwt", ...header })
      .sign(by.sign, { crit: { b64: true } })
  )

export const claimsFor = (client: TestClient, more: object = {}) => ({
  iss: login,
  sub: "alice",
  aud: issuer,
  client_id: client.id,
  jti: "one",
  iat: seconds,
  exp: seconds + 300,
  scope: "api profile",
  ...more
})

/** A client that an owner registered for assertions. */
export const enterprise = Effect.fnUntraced(function* (world: World, metadata: object = {}) {
  const asked = { grant_types: [jwtBearer.name], redirect_uris: [], client_name: "Chat", ...metadata }
  const read = yield* Effect.fromResult(checkRegistration(world.services, asked))
  const { client, secret } = yield* addClient(world.services, byOwner(world), read)
  const shown = secret._tag === "Some" ? world.reveal(secret.value) : undefined
  return { id: client.id, secret: shown, redirectUri: "", registrationUri: "", registrationToken: "" } as TestClient
})
