import { Effect, Schema, Struct } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { isPublic, isStranger } from "../../client/Client.ts"
import { algorithmsOf, leastProfile } from "../../client/Profile.ts"
import { beside, spendingOf } from "../../engine/Spending.ts"
import { isBoundTo } from "../../grant/Binding.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import { type Sent, sentForm, severalOf } from "../../http/form.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type HandlerOf,
  names,
  type Services
} from "../../http/Route.ts"
import { allowances } from "../../ports/Limiter.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { push, readPushed } from "../../request/pushed.ts"
import { authorizeContract, type CheckedRequest } from "../../request/readRequest.ts"
import {
  InvalidClient,
  InvalidDpopProof,
  InvalidRequest,
  InvalidRequestObject,
  InvalidScope,
  InvalidTarget,
  PortUnavailable,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedResponseType,
  UntrustedRequest,
  UseDpopNonce
} from "../../rules/Refusal.ts"
import { parPath } from "../../workspace/Workspace.ts"
import { authenticateUnspent, spendProof, takeUnproven, withClientFields } from "../clients/authenticateClient.ts"
import type { Proof } from "../presented/Presentation.ts"
import { proofReader, withProofFaults } from "../presented/proofs.ts"

/** RFC 9126 §2.2. */
const PushedAnswer = Schema.Struct({
  request_uri: Schema.String.annotate({ description: "For the authorization endpoint, once." }),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
    description: "Seconds from now in which a browser has to come with it."
  })
}).annotate({ identifier: "PushedRequest" })
type PushedAnswer = typeof PushedAnswer.Type

const PushRequest = Schema.Struct({
  ...Struct.omit(authorizeContract.query.fields, ["client_id", "request_uri"]),
  request: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "RFC 9101: instead of all the others, which do not count beside it: they are claims of this JWT, which the client signed."
    })
  )
}).annotate({ identifier: "PushRequest" })

export const parContract = {
  id: "pushAuthorizationRequest",
  heading: "OAuth",
  summary: "Push an authorization request",
  description:
    "RFC 9126: the client sends here what it asks a person for, and its browser goes to the authorization endpoint with `client_id` and the `request_uri` of the answer.",
  form: PushRequest,
  callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "The request is kept for a moment.", like: () => secretJson(201, {}), body: PushedAnswer }],
  faults: [
    InvalidRequest,
    InvalidRequestObject,
    InvalidClient,
    UntrustedRequest,
    UnauthorizedClient,
    UnsupportedResponseType,
    InvalidScope,
    InvalidTarget,
    InvalidDpopProof,
    UseDpopNonce,
    TooManyRequests,
    PortUnavailable,
    StorageUnavailable
  ]
} as const satisfies Contract

const several = severalOf(parContract.form.fields)

/**
 * Each push is a write. Of a client that no person let in yet it is taken from its network, which may register many; of
 * a public one too, whose name is no secret, and of which a stranger may know many; of any other from its own share.
 */
export const takePush = Effect.fnUntraced(function* (services: Services, call: Call, by: AuthenticatedClient) {
  const { client } = by
  yield* takeUnproven(services, call, by)
  if (isStranger(client) || isPublic(client)) return yield* takeOfAddress(services.limiter, call, allowances.push)
  yield* services.limiter.take({ allowance: allowances.push, workspace: call.workspace.id, of: client.id })
})

export const otherKey = new InvalidDpopProof({ reason: "proof_jkt" })

/**
 * RFC 9449 §10.1: a proof beside a pushed request names the key of its code, as `dpop_jkt` does. The request is kept at
 * once with what the proof is good for once: it cannot be named before this is answered.
 */
const pushWithKey = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  request: CheckedRequest,
  { binding, holds, single }: Proof
) {
  if (request.binding !== undefined && !isBoundTo(request.binding, binding)) return yield* otherKey
  yield* holds
  return yield* beside(spendingOf(services.once.spend(call.workspace.id, single, call.requestId)), () =>
    push(services, call, { ...request, binding })
  )
})

const pushed = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  sent: Sent,
  by: AuthenticatedClient,
  proof: Proof | undefined
) {
  yield* takePush(services, call, by)
  const read = yield* readPushed(services, call, sent, by)
  const kept = proof === undefined ? push(services, call, read) : pushWithKey(services, call, read, proof)
  const { expiresInSeconds, requestUri } = yield* kept
  const answer = { request_uri: requestUri, expires_in: expiresInSeconds } satisfies Written<PushedAnswer>
  return secretJson(201, answer, proof?.tells)
})

/** RFC 9126 §2.1: read as at the authorization endpoint, by the same contract, from the body of a client that is known. */
const parHandler = (services: Services): HandlerOf<typeof parContract> => {
  const readProof = proofReader(services)
  return Effect.fnUntraced(function* (call) {
    const sent = yield* Effect.fromResult(sentForm(call.request, several))
    const proof = yield* Effect.fromResult(readProof(call))
    const by = yield* authenticateUnspent(services, call, sent)
    return yield* beside(spendingOf(spendProof(services, call, by)), () => pushed(services, call, sent, by, proof))
  })
}

/** RFC 9126. */
export const parEndpoint: Endpoint = {
  path: parPath,
  match: "exact",
  methods: {
    POST: bound((services) => withProofFaults(services, "auth", withClientFields(services, parContract)), parHandler)
  },
  errors: "oauth",
  cors: true,
  metadata: {
    name: "pushed_authorization_request_endpoint",
    members: ({ clientAuths }) => ({
      // RFC 9126 §5.
      require_pushed_authorization_requests: {
        schema: Schema.Boolean,
        value: ({ policy }) => policy.requirePush || leastProfile(policy).push
      },
      // OpenID Connect Discovery §3: without a word it would mean that any address is fetched.
      request_uri_parameter_supported: { schema: Schema.Boolean, value: () => false },
      // RFC 9101 §10.5, by clients that registered keys.
      ...([...clientAuths.values()].some(({ signs }) => signs === true)
        ? {
            require_signed_request_object: { schema: Schema.Boolean, value: () => false },
            request_object_signing_alg_values_supported: names(({ policy }) => algorithmsOf(leastProfile(policy)))
          }
        : {})
    })
  }
}
