import { Effect, Schema } from "effect"
import { CompactSign, exportJWK, generateKeyPair } from "jose"
import { checkRegistration } from "../../core/client/RegistrationRequest.ts"
import { registerClient as addClient } from "../../core/engine/administerClients.ts"
import { trustIssuer } from "../../core/engine/administerWorkspace.ts"
import { jwtBearer } from "../../core/oauth/grants/jwtBearer.ts"
import { UserId } from "../../core/rules/Id.ts"
import { ResourceRegistry } from "../../core/rules/Resource.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { byOwner } from "./auditContext.ts"
import { type TestClient, tokenRequest, type Values } from "./flow.ts"
import { inWorld, realSignatures, type Steps, t0, theWorkspace, type World, type WorldOptions } from "./World.ts"

/** The issuer whose assertions of who a person is an owner trusts. */
export const login = "https://login.acme.example"
const { issuer } = theWorkspace
export const seconds = t0 / 1000

const keyNamed = async (kid: string) => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  return { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), kid } }
}
export type Signer = Awaited<ReturnType<typeof keyNamed>>

/** Its key, and one of another issuer. */
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
  const shown = secret && world.reveal(secret)
  return { id: client.id, secret: shown, redirectUri: "", registrationUri: "", registrationToken: "" } as TestClient
})

/** A resource of its own, and the workspace that lists it. */
export const orders = "https://orders.example"
export const withOrdersOf = (scopes?: ReadonlyArray<string>): Workspace => ({
  ...theWorkspace,
  resources: Schema.decodeUnknownSync(ResourceRegistry)([{ at: orders, name: "Orders", ...(scopes && { scopes }) }])
})
export const withOrders = withOrdersOf()

export const trust = (world: World, more: object = {}, workspace: Workspace = world.workspace) =>
  Effect.flatMap(world.services.openings.open(workspace), (opened) =>
    trustIssuer(world.services, byOwner(world), opened, { issuer: login, jwks: { keys: [own.jwk] }, ...more })
  )

export const bring = (world: World, by: TestClient, assertion: string, fields: Values = {}) =>
  tokenRequest(world, by, { grant_type: jwtBearer.name, assertion, ...fields })

export const grantsOf = (world: World, user = "alice") =>
  Effect.map(
    world.services.grants.ofUser(theWorkspace.id, UserId.make(user), { after: undefined, limit: 10 }),
    ({ values }) => values
  )

/** A server whose owner trusts `login`, on these terms, and its client. */
export const inCompany = <A>(
  body: (scene: { readonly world: World; readonly client: TestClient }) => Steps<A>,
  more: object = {},
  options: WorldOptions = {}
) =>
  inWorld(
    function* (world) {
      yield* trust(world, more, options.resolve === undefined ? world.workspace : withOrders)
      return yield* body({ world, client: yield* enterprise(world) })
    },
    { signatures: realSignatures, ...options }
  )
