import { Effect } from "effect"
import { authMethodOf, type Client, identifierOf, voucherOf } from "../client/Client.ts"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { maySignBy, profileOf, requestObjectAlgorithm } from "../client/Profile.ts"
import type { Members } from "../codec/Json.ts"
import { kidOf, mediaTypeIn, millisIn, readJws } from "../codec/Jws.ts"
import { verifiedOfClient } from "../engine/clientSignatures.ts"
import type { Call, Services } from "../http/Route.ts"
import { wellFormed } from "../http/returnUrl.ts"
import type { KeySource } from "../ports/ClientKeys.ts"
import { askerOf } from "../ports/Limiter.ts"
import { hour, type Instant, leeway } from "../rules/Instant.ts"
import { type Algorithm, isAlgorithm, sameAlgorithm } from "../rules/Jwk.ts"
import { InvalidRequestObject, type PortUnavailable } from "../rules/Refusal.ts"

type Fault = InvalidRequestObject["reason"]

/** FAPI 2.0 Message Signing §5.3.1: neither older than this when it comes, nor good for longer from its beginning. */
const longest = hour

/** RFC 9101 §10.8: a type of its own, or none that says what else it would be. */
const types: ReadonlyArray<unknown> = [undefined, "jwt", "oauth-authz-req+jwt"]

/** Not a number where it is none: neither before nor after any moment. */
const momentIn = (claims: Members, name: string): number => millisIn(claims, name) ?? Number.NaN

/** RFC 7519 §4.1.3: a request object may be for others too, since it grants nothing by itself. */
const isFor = (audience: unknown, issuer: string): boolean =>
  audience === issuer || (Array.isArray(audience) && audience.includes(issuer))

export interface ObjectExpected {
  readonly client: ClientIdentifier
  readonly issuer: string
  readonly now: Instant
}

/** RFC 9101 §4 and §6: what a request object has to say whose signature holds; `undefined` where it does. */
export const objectFault = (header: Members, claims: Members, expected: ObjectExpected): Fault | undefined => {
  const { client, issuer, now } = expected
  if (!types.includes(mediaTypeIn(header))) return "type"
  if (claims.iss !== client || claims.client_id !== client) return "client"
  // RFC 9101 §10.8: with both it would be an assertion of the client, too.
  if (claims.sub === client) return "subject"
  if (!isFor(claims.aud, issuer)) return "audience"
  const [expiresAt, notBefore] = [momentIn(claims, "exp"), momentIn(claims, "nbf")]
  if (!(expiresAt + leeway > now)) return "expired"
  if (!(notBefore <= now + leeway)) return "from_the_future"
  if (!(notBefore >= now - longest - leeway)) return "too_old"
  // Both are by the client's clock, however far that is off.
  if (!(expiresAt - notBefore <= longest)) return "too_long_lived"
  if (claims.iat !== undefined && !(momentIn(claims, "iat") <= now + leeway)) return "from_the_future"
  // RFC 9101 §4: neither may stand in a request object.
  return claims.request === undefined && claims.request_uri === undefined ? undefined : "nested"
}

/** RFC 7519 §4.1: claims about the object itself, and no parameters. */
const aboutItself = new Set(["iss", "aud", "exp", "nbf", "iat", "jti", "sub"])

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (value === null || value === undefined) return []
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value
  return [typeof value === "string" ? value : JSON.stringify(value)]
}

/** RFC 9101 §4: its parameters, as the body of a form would have them, so that one reader reads both. */
export const parametersOf = (claims: Members): string =>
  Object.entries(claims)
    .filter(([name]) => !aboutItself.has(name))
    .flatMap(([name, value]) => textsOf(value).map((text) => `${written(name)}=${written(text)}`))
    .join("&")

const written = (text: string): string => encodeURIComponent(wellFormed(text))

/** Where the client's keys are, by the row that registered it. */
const sourceOf = ({ clientAuths }: Services, client: Client): KeySource | undefined =>
  clientAuths.get(authMethodOf(client))?.keys(client.credential)

const mayBe = (services: Services, client: Client, algorithm: Algorithm): boolean => {
  const registered = requestObjectAlgorithm.of(client)
  const isAsRegistered = registered === undefined || sameAlgorithm(registered, algorithm)
  return isAsRegistered && maySignBy(profileOf(client, services.policy), algorithm)
}

/** RFC 9101 §6: the parameters of a request object, signed by the client that pushes it; nothing beside them counts. */
export const readRequestObject = Effect.fnUntraced(function* (
  services: Services,
  { now, request, workspace }: Call,
  client: Client,
  text: string
): Effect.fn.Return<string, InvalidRequestObject | PortUnavailable> {
  const refuse = (reason: Fault) => new InvalidRequestObject({ reason })
  const jws = readJws(text)
  if (jws === undefined) return yield* refuse("malformed")
  const { alg } = jws.header
  if (!isAlgorithm(alg) || !mayBe(services, client, alg)) return yield* refuse("algorithm")
  const source = sourceOf(services, client)
  if (source === undefined) return yield* refuse("key_unknown")
  const signedBy = {
    workspace: workspace.id,
    client: client.id,
    source,
    asker: { vouchedBy: voucherOf(client), askedBy: askerOf(request) },
    kid: kidOf(jws.header),
    algorithm: alg
  }
  const { claims, header } = yield* Effect.catchTag(
    verifiedOfClient(services, jws, signedBy),
    "ClientSignatureFault",
    ({ reason }) => Effect.fail(refuse(reason))
  )
  const fault = objectFault(header, claims, { client: identifierOf(client), issuer: workspace.issuer, now })
  return fault === undefined ? parametersOf(claims) : yield* refuse(fault)
})
