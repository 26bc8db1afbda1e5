import { Schema } from "effect"
import { secretJson } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { InvalidClient, InvalidRequest, InvalidToken, TokenRequired, TooManyRequests } from "../../rules/Refusal.ts"
import type { Contract } from "./Contract.ts"
import { clientFields } from "./clientFields.ts"

/** RFC 7662 §2.1. The kind of a token stands in its text, so the hint is taken and not needed. */
const IntrospectToken = Schema.Struct({
  token: Schema.String.annotate({ description: "An access token, a refresh token or an API key." }),
  token_type_hint: Schema.optionalKey(Schema.String.annotate({ description: "Not needed." })),
  ...clientFields
}).annotate({ identifier: "IntrospectToken" })

/** RFC 7662 §2.2. */
const LiveToken = Schema.Struct({
  active: Schema.Literal(true),
  iss: Schema.String,
  sub: Schema.String.annotate({ description: "The person; or the client, or the workspace, that acts for itself." }),
  client_id: Schema.optionalKey(Schema.String.annotate({ description: "An API key has none." })),
  scope: Schema.String,
  token_type: Schema.optionalKey(Schema.Literal("Bearer").annotate({ description: "A refresh token has none." })),
  exp: Schema.optionalKey(
    Schema.Int.annotate({ description: "In seconds since 1970; left out where it never expires." })
  ),
  aud: Schema.optionalKey(Schema.String.annotate({ description: "The resource that it is for (RFC 8707)." })),
  principal: Schema.Literals(["User", "Workspace", "ApiKey"]).annotate({
    description: "Which of the three is calling."
  }),
  grant: Schema.String.annotate({ description: "What the audit stream calls that which the token came from." })
}).annotate({ identifier: "LiveToken" })

const DeadToken = Schema.Struct({ active: Schema.Literal(false) }).annotate({
  identifier: "DeadToken",
  description: "Not good, not there, or not the asking client's own."
})

export const Introspected = Schema.Union([LiveToken, DeadToken])
export type Introspected = typeof Introspected.Type

export const introspectContract = {
  id: "introspect",
  heading: "OAuth",
  summary: "Ask what a token is worth",
  description:
    "RFC 7662: a client learns about its own tokens; a resource server, by an API key of the workspace, about all.",
  form: IntrospectToken,
  callers: [{ shows: "apiKey" }, { shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "What the token is worth now.", like: () => secretJson(200, {}), body: Introspected }],
  faults: [InvalidRequest, InvalidClient, TokenRequired, InvalidToken, TooManyRequests, StorageUnavailable]
} as const satisfies Contract
