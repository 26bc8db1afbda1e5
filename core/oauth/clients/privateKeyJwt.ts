import { Effect, Option, Result, Schema } from "effect"
import type { Proof } from "../../client/authenticate.ts"
import { readClientIdentifier } from "../../client/ClientIdentifier.ts"
import { algorithmsOf, maySignBy, type Profile } from "../../client/Profile.ts"
import type { Members } from "../../codec/Json.ts"
import { kidOf, readJws, type UnverifiedJws } from "../../codec/Jws.ts"
import { type ClientSignatureFault, verifiedOfClient } from "../../engine/clientSignatures.ts"
import { asItCame } from "../../http/form.ts"
import type { KeySource } from "../../ports/ClientKeys.ts"
import { askerOf } from "../../ports/Limiter.ts"
import {
  type Algorithm,
  algorithms,
  isAlgorithm,
  PublicKey,
  readJwkSet,
  sameAlgorithm,
  someFits
} from "../../rules/Jwk.ts"
import { InvalidClient, InvalidClientMetadata } from "../../rules/Refusal.ts"
import { endpointUrl, parPath, tokenPath, type Workspace } from "../../workspace/Workspace.ts"
import { assertionType, checkAssertion } from "./assertion.ts"
import { type AuthPorts, type AuthRequest, clientAuth, type ProofFault, type Shown } from "./ClientAuth.ts"

const name = "private_key_jwt"

/** What the record keeps of a client that signs: public keys, or where they are. */
const StoredKeys = Schema.Struct({
  _tag: Schema.Literal("Keys"),
  method: Schema.Literal(name),
  keys: Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("Registered"), keys: Schema.Array(PublicKey) }),
    Schema.Struct({ _tag: Schema.Literal("Fetched"), jwksUri: Schema.String })
  ]),
  /** The one that it registered for, where it did. */
  algorithm: Schema.optionalKey(Schema.Literals(algorithms))
})
type StoredKeys = typeof StoredKeys.Type

/** What the body shows: an assertion, not verified yet, and whose it says that it is. */
interface ShownAssertion extends Shown {
  readonly assertion: UnverifiedJws
  readonly algorithm: Algorithm
  readonly kid: string | undefined
}

type Reason = InvalidClient["reason"]

const refusal = (reason: Reason) => new InvalidClient({ reason, triedHeader: false })

const unreadable = Result.fail(refusal("unreadable"))
const replayed = refusal("assertion_replayed")

/** RFC 7521 §4.2: the client's own id beside the assertion is the same one. */
const readShown = ({ named, sent }: AuthRequest): Result.Result<ShownAssertion, InvalidClient> | undefined => {
  const assertion = asItCame(sent, "client_assertion")
  const type = asItCame(sent, "client_assertion_type")
  if (assertion === undefined && type === undefined) return undefined
  if (assertion === undefined || type !== assertionType) return unreadable
  const jws = readJws(assertion)
  if (jws === undefined) return unreadable
  const { claims, header } = jws
  if (!isAlgorithm(header.alg)) return Result.fail(refusal("assertion_algorithm"))
  const { sub } = claims
  const id = typeof sub === "string" ? readClientIdentifier(sub) : Option.none()
  if (Option.isNone(id)) return Result.fail(refusal("unknown"))
  if (asItCame(sent, "client_id") !== undefined && named !== id.value) return Result.fail(refusal("assertion_subject"))
  return Result.succeed({ id: id.value, assertion: jws, algorithm: header.alg, kid: kidOf(header) })
}

const Registration = {
  jwks: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "RFC 7517 §5." })),
  jwks_uri: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(2048), Schema.isPattern(/^https:\/\/[\x21-\x7e]+$/)).annotate({
      description: "Where its keys are, instead of jwks."
    })
  ),
  token_endpoint_auth_signing_alg: Schema.optionalKey(Schema.Literals(algorithms))
}

type Registration = Schema.Struct<typeof Registration>["Type"]

const fault = (message: string) => Result.fail(new InvalidClientMetadata({ message }))

/** Keys or their address: a registration that has both, or a private key, is refused for every method. */
const readSource = ({
  jwks,
  jwks_uri,
  token_endpoint_auth_signing_alg: algorithm
}: Registration): Result.Result<StoredKeys["keys"], InvalidClientMetadata> => {
  if (jwks_uri !== undefined) {
    const url = URL.canParse(jwks_uri) ? new URL(jwks_uri) : undefined
    return url === undefined || url.username !== "" || url.password !== "" || jwks_uri.includes("#")
      ? fault("The jwks_uri has to be an https address without credentials and fragment.")
      : Result.succeed({ _tag: "Fetched", jwksUri: jwks_uri })
  }
  if (jwks === undefined) return fault(`The method ${name} takes jwks, or a jwks_uri.`)
  const keys = readJwkSet(jwks)
  if (Result.isFailure(keys)) return fault("The jwks has to be a set of at most 20 keys.")
  // With none that may have signed its assertions, the client would be refused each time, and not told why.
  const taken = algorithm === undefined ? algorithms : [algorithm]
  return someFits(keys.success, taken)
    ? Result.succeed({ _tag: "Registered", keys: keys.success })
    : fault(`No key of the jwks is one for these algorithms: ${taken.join(", ")}.`)
}

const forSignature: Readonly<Record<ClientSignatureFault["reason"], InvalidClient>> = {
  key_unknown: refusal("assertion_key_unknown"),
  algorithm: refusal("assertion_algorithm"),
  forged: refusal("bad_assertion")
}

const verified = (
  { algorithm, assertion, id, kid }: ShownAssertion,
  source: KeySource,
  { call, vouchedBy }: AuthRequest,
  ports: AuthPorts
): Effect.Effect<{ readonly header: Members; readonly claims: Members }, ProofFault> => {
  const asker = { vouchedBy, askedBy: askerOf(call.request) }
  return Effect.catchTag(
    verifiedOfClient(ports, assertion, { workspace: call.workspace.id, client: id, source, asker, kid, algorithm }),
    "ClientSignatureFault",
    ({ reason }) => Effect.fail(forSignature[reason])
  )
}

/** RFC 7523 §3: the issuer, or the endpoint itself. RFC 9126 §2: where requests are pushed, the token endpoint too. */
const audiencesAt = (workspace: Workspace, endpoint: string, { endpointAudience }: Profile): ReadonlyArray<string> => {
  if (!endpointAudience) return [workspace.issuer]
  const paths = endpoint === parPath ? [parPath, tokenPath] : [endpoint]
  return [workspace.issuer, ...paths.map((path) => endpointUrl(workspace, path))]
}

/**
 * RFC 7523: a client that signs. Its id is no secret, so one that is not there is refused at once: a verification costs
 * more than all the rest of a request. What was signed is remembered only once it has held, or strangers would write.
 */
const prove = (
  shown: ShownAssertion,
  stored: StoredKeys | undefined,
  request: AuthRequest,
  ports: AuthPorts,
  profile: Profile
): Effect.Effect<Proof, ProofFault> => {
  if (stored === undefined) return Effect.fail(refusal("wrong_method"))
  const { algorithm, keys: source } = stored
  const isAsRegistered = algorithm === undefined || sameAlgorithm(algorithm, shown.algorithm)
  if (!isAsRegistered || !maySignBy(profile, shown.algorithm)) return Effect.fail(refusal("assertion_algorithm"))
  const { endpoint, now, workspace } = request.call
  return Effect.flatMap(verified(shown, source, request, ports), ({ claims, header }) => {
    const audiences = audiencesAt(workspace, endpoint, profile)
    const good = checkAssertion(header, claims, { client: shown.id, audiences, now })
    if (Result.isFailure(good)) return Effect.fail(refusal(good.failure))
    const { jti, until } = good.success
    return Effect.succeed({
      once: { purpose: "client-assertion" as const, value: `${shown.id} ${jti}`, until, refusal: replayed }
    })
  })
}

/** OpenID Connect Core §9, RFC 7523: a JWT that the client signs with a key of its own. No secret is anywhere but there. */
export const privateKeyJwt = clientAuth<ShownAssertion, StoredKeys>({
  name,
  proves: true,
  signs: true,
  fields: {
    client_assertion: Schema.optionalKey(
      Schema.String.annotate({ description: "A JWT that the client signed (RFC 7523 §2.2), good once." })
    ),
    client_assertion_type: Schema.optionalKey(
      Schema.String.annotate({ description: `With client_assertion: ${assertionType}.` })
    )
  },
  shown: readShown,
  stored: StoredKeys,
  members: Registration,
  register: (request) => {
    // Its members were read with the rest of the registration.
    const registration = request as Registration
    const { token_endpoint_auth_signing_alg: algorithm } = registration
    return Result.map(readSource(registration), (keys) => ({
      _tag: "Keys",
      method: name,
      keys,
      ...(algorithm === undefined ? {} : { algorithm })
    }))
  },
  told: ({ algorithm, keys }) => ({
    ...(keys._tag === "Registered" ? { jwks: { keys: keys.keys } } : { jwks_uri: keys.jwksUri }),
    ...(algorithm === undefined ? {} : { token_endpoint_auth_signing_alg: algorithm })
  }),
  keys: ({ keys }) => keys,
  prove,
  metadata: (profile) => ({ auth_signing_alg_values_supported: algorithmsOf(profile) })
})
