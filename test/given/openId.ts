import { Effect } from "effect"
import { createLocalJWKSet, type JWTVerifyResult, jwtVerify } from "jose"
import { signInScopes } from "../../core/rules/Scope.ts"
import { codeFor, jsonOf, redeem, type TestClient, text, type Values } from "./flow.ts"
import { realSignatures, t0, theWorkspace, type World, type WorldOptions } from "./World.ts"

/** A server at which people sign in. */
export const signsIn: WorldOptions = { signatures: realSignatures, policy: { scopes: signInScopes } }

/** The tokens of a request with `openid`, as the client gets them. */
export const identify = Effect.fnUntraced(function* (
  world: World,
  client: TestClient,
  fields: Values = {},
  as = "alice"
) {
  const response = yield* redeem(world, client, yield* codeFor(world, client, { scope: "openid", ...fields }, as))
  if (response.status !== 200) throw new Error(`the token endpoint answered ${response.status}: ${response.body}`)
  return jsonOf(response)
})

/** An ID token as its client verifies it: by the published keys, for itself alone. */
export const verified = (
  world: World,
  client: Pick<TestClient, "id">,
  idToken: unknown,
  now = t0
): Effect.Effect<JWTVerifyResult> =>
  Effect.flatMap(world.send("GET", "/oauth/jwks"), ({ body }) => {
    const keys = createLocalJWKSet(JSON.parse(body) as Parameters<typeof createLocalJWKSet>[0])
    const { issuer } = theWorkspace
    return Effect.promise(() =>
      jwtVerify(text(idToken), keys, { issuer, audience: client.id, currentDate: new Date(now) })
    )
  })
