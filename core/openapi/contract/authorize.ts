import { Schema } from "effect"
import { seeOther } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { ClientId } from "../../rules/Id.ts"
import { Instant } from "../../rules/Instant.ts"
import { CodeChallenge } from "../../rules/Pkce.ts"
import { InvalidRequest, TooManyRequests, UntrustedRequest } from "../../rules/Refusal.ts"
import type { Contract, Sample } from "./Contract.ts"
import { refusedAs } from "./refusedAs.ts"

const challengeMalformed = new InvalidRequest({
  reason: "challenge_malformed",
  message: "The code_challenge has to be 43 to 128 unreserved characters."
})

/** RFC 7636 §4.3: left out it would mean `plain`, which is not to be had. */
export const challengeMethod = new InvalidRequest({
  reason: "challenge_method",
  message: "The code_challenge_method has to be S256."
})

const responseMode = new InvalidRequest({ reason: "response_mode", message: "The response_mode has to be query." })

/** RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2. */
const AuthorizationRequest = Schema.Struct({
  response_type: Schema.Literal("code"),
  client_id: ClientId,
  redirect_uri: Schema.String.annotate({
    description: "One that the client registered, letter for letter; only the port of a loopback address may differ."
  }),
  scope: Schema.optionalKey(
    Schema.String.annotate({ description: "Scopes, with a space between them; without any, the server's default." })
  ),
  state: Schema.optionalKey(Schema.String.annotate({ description: "Comes back as it is." })),
  code_challenge: Schema.optionalKey(
    CodeChallenge.annotate({
      description: "RFC 7636. A public client needs it; the server may ask it of all.",
      ...refusedAs(challengeMalformed)
    })
  ),
  code_challenge_method: Schema.optionalKey(
    Schema.Literal("S256").annotate({ description: "Needed beside a code_challenge.", ...refusedAs(challengeMethod) })
  ),
  resource: Schema.optionalKey(
    Schema.String.annotate({ description: "RFC 8707: the issuer, or a place below it, that the grant is to be for." })
  ),
  response_mode: Schema.optionalKey(Schema.Literal("query").annotate(refusedAs(responseMode)))
})

const nobody = { id: "", name: undefined, redirectUri: "https://client.example/", registeredItself: true }

/** The consent page of a client that there is not: what counts is how the host's pages are answered. */
const consentPage: Sample = ({ pages, workspace }) =>
  pages.consent(workspace, {
    client: nobody,
    scopes: [],
    account: "",
    switchAccount: "/",
    csrf: "",
    ticket: "",
    request: "",
    now: Instant.make(0)
  })

export const authorizeContract = {
  id: "authorize",
  heading: "OAuth",
  summary: "Ask a person",
  description:
    "RFC 6749 §3.1: for a browser, which brings the session of whoever sits before it. What is wrong with a request of a known client goes back to its redirect URI as `error`; every answer there has `iss` (RFC 9207).",
  query: AuthorizationRequest,
  callers: [{ shows: "nothing" }],
  answers: [
    { description: "The consent page.", like: consentPage },
    { description: "To the sign-in, or back to the client with an error.", like: () => seeOther("/") }
  ],
  faults: [UntrustedRequest, InvalidRequest, TooManyRequests, StorageUnavailable]
} as const satisfies Contract
