import { Schema } from "effect"
import { secretJson } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { CodeVerifier } from "../../rules/Pkce.ts"
import {
  Contended,
  InvalidClient,
  InvalidGrant,
  InvalidRequest,
  InvalidScope,
  InvalidTarget,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedGrantType
} from "../../rules/Refusal.ts"
import type { Contract } from "./Contract.ts"
import { clientFields } from "./clientFields.ts"
import { refusedAs } from "./refusedAs.ts"

const common = {
  resource: Schema.optionalKey(
    Schema.String.annotate({ description: "RFC 8707: the issuer, or a place below it, that the token is to be for." })
  ),
  ...clientFields
}

const narrower = Schema.optionalKey(
  Schema.String.annotate({ description: "Scopes, with a space between them; fewer than were granted, never more." })
)

const verifierMalformed = new InvalidRequest({
  reason: "verifier_malformed",
  message: "The code_verifier has to be 43 to 128 unreserved characters."
})

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. */
const RedeemCode = Schema.Struct({
  grant_type: Schema.Literal("authorization_code"),
  code: Schema.String.annotate({ description: "As it came to the redirect URI. Good once, and not for long." }),
  redirect_uri: Schema.String.annotate({ description: "The same as in the authorization request." }),
  code_verifier: Schema.optionalKey(
    CodeVerifier.annotate({
      description: "RFC 7636: needed exactly where the authorization request had a challenge.",
      ...refusedAs(verifierMalformed)
    })
  ),
  ...common
}).annotate({ identifier: "RedeemCode", description: "A code that a person's approval brought (RFC 6749 §4.1.3)." })

/** RFC 6749 §6. */
const RefreshGrant = Schema.Struct({
  grant_type: Schema.Literal("refresh_token"),
  refresh_token: Schema.String.annotate({ description: "The one that came last." }),
  scope: narrower,
  ...common
}).annotate({ identifier: "RefreshGrant", description: "A new access token for a refresh token (RFC 6749 §6)." })

/** RFC 6749 §4.4. */
const OwnAccess = Schema.Struct({
  grant_type: Schema.Literal("client_credentials"),
  scope: Schema.optionalKey(Schema.String.annotate({ description: "Scopes, with a space between them." })),
  ...common
}).annotate({ identifier: "OwnAccess", description: "A token for the client itself (RFC 6749 §4.4)." })

/** RFC 6749 §5.1. */
export const TokenAnswer = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("Bearer"),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Seconds from now." }),
  refresh_token: Schema.optionalKey(Schema.String),
  scope: Schema.String.annotate({ description: "What was granted, which may be less than was asked for." })
}).annotate({ identifier: "Tokens" })
export type TokenAnswer = typeof TokenAnswer.Type

export const tokenContract = {
  id: "token",
  heading: "OAuth",
  summary: "Get an access token",
  description: "RFC 6749 §3.2: for a code, for a refresh token, or for the client itself.",
  form: Schema.Union([RedeemCode, RefreshGrant, OwnAccess]),
  callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "Tokens.", like: () => secretJson(200, {}), body: TokenAnswer }],
  faults: [
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    UnauthorizedClient,
    UnsupportedGrantType,
    TooManyRequests,
    Contended,
    StorageUnavailable
  ]
} as const satisfies Contract
