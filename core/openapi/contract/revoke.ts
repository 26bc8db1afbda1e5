import { Schema } from "effect"
import { secretJson } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { Contended, InvalidClient, InvalidRequest, TooManyRequests } from "../../rules/Refusal.ts"
import type { Contract } from "./Contract.ts"
import { clientFields } from "./clientFields.ts"

/** RFC 7009 §2.1. The kind of a token stands in its text, so the hint is taken and not needed. */
const RevokeToken = Schema.Struct({
  token: Schema.String.annotate({ description: "A refresh token, which ends its whole grant, or an access token." }),
  token_type_hint: Schema.optionalKey(Schema.String.annotate({ description: "Not needed." })),
  ...clientFields
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
  faults: [InvalidRequest, InvalidClient, TooManyRequests, Contended, StorageUnavailable]
} as const satisfies Contract
