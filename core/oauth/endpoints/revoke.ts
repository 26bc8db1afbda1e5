import { Effect, Result, Schema } from "effect"
import { beside } from "../../engine/Spending.ts"
import { secretJson } from "../../http/answer.ts"
import { noteOf } from "../../http/audit.ts"
import { readerOf, sentForm } from "../../http/form.ts"
import { bound, type Contract, type Endpoint, type FaultOf, type HandlerOf, type Services } from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { type GrantId, grantMark } from "../../rules/Id.ts"
import { Contended, InvalidClient, InvalidRequest, PortUnavailable, TooManyRequests } from "../../rules/Refusal.ts"
import {
  authenticateUnspent,
  authMetadata,
  refuseUnproven,
  spendProofOn,
  takeUnproven,
  withClientFields
} from "../clients/authenticateClient.ts"

/** RFC 7009 §2.1. The kind of a token stands in its text, so the hint is taken and not needed. */
const RevokeToken = Schema.Struct({
  token: Schema.String.annotate({ description: "A refresh token, which ends its whole grant, or an access token." }),
  token_type_hint: Schema.optionalKey(Schema.String.annotate({ description: "Not needed." }))
}).annotate({ identifier: "RevokeToken" })

const Revoked = Schema.Record(Schema.String, Schema.Never).annotate({
  identifier: "Revoked",
  description: "Nothing: the answer is the same whatever the token was."
})

export const revokeContract = {
  id: "revoke",
  heading: "OAuth",
  summary: "Give a token back",
  description: "RFC 7009: a client revokes one of its own tokens. What is not its own is left as it is, and not told.",
  form: RevokeToken,
  callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "It is not good any more, or never was.", like: () => secretJson(200, {}), body: Revoked }],
  faults: [InvalidRequest, InvalidClient, TooManyRequests, PortUnavailable, Contended, StorageUnavailable]
} as const satisfies Contract

const read = readerOf(revokeContract.form.fields)

type Refused = FaultOf<typeof revokeContract>

/** RFC 7009 §2.2: the same answer for whatever was sent, so that a caller does not learn what a string is worth. */
const revokeHandler = (services: Services): HandlerOf<typeof revokeContract> =>
  Effect.fnUntracedEager(function* (call) {
    const sent = yield* Effect.fromResult(sentForm(call.request))
    const by = yield* authenticateUnspent(services, call, sent)
    const form = read(sent)
    const unproven = () => takeUnproven(services, call, by)
    const grant = yield* beside(
      spendProofOn(services, call, by),
      (spending): Effect.Effect<GrantId | undefined, Refused> =>
        Result.isFailure(form)
          ? refuseUnproven(services, call, by, form.failure)
          : services.grants.revokeToken(call.workspace, by, form.success.token, unproven, spending)
    )
    if (grant !== undefined) {
      const shown = by.shown === undefined ? {} : { secret: by.shown }
      yield* noteOf(services, call, { _tag: "TokenRevoked", client: by.client.id, grant: grantMark(grant), ...shown })
    }
    return secretJson(200, {})
  })

export const revokeEndpoint: Endpoint = {
  path: "/oauth/revoke",
  match: "exact",
  methods: { POST: bound((services) => withClientFields(services, revokeContract), revokeHandler) },
  errors: "oauth",
  cors: true,
  metadata: {
    name: "revocation_endpoint",
    members: (services) => authMetadata(services, revokeContract, "revocation_endpoint")
  }
}
