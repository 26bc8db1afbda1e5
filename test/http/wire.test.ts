import { describe, expect, test } from "bun:test"
import { faultToWire, oauthError, resourceError } from "../../core/http/faults.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import {
  AccessDenied,
  Contended,
  ForgedForm,
  InsufficientScope,
  InvalidClient,
  InvalidClientMetadata,
  InvalidGrant,
  InvalidRedirectUri,
  InvalidRequest,
  InvalidScope,
  InvalidTarget,
  InvalidToken,
  NoSuchRoute,
  Overloaded,
  OwnersOnly,
  type Refusal,
  RegistrationRefused,
  TokenRequired,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedGrantType,
  UnsupportedResponseType,
  UntrustedRequest
} from "../../core/rules/Refusal.ts"
import { header } from "../given/flow.ts"
import { theWorkspace } from "../given/World.ts"

type Row = readonly [status: number, error: string, ...refusals: ReadonlyArray<Refusal | StorageUnavailable>]

const message = "Words."

/** RFC 6749 §5.2, 6750 §3.1, 7591 §3.2.2, 8707 §2, written down once more: every reason that there is. */
const table: ReadonlyArray<Row> = [
  [
    400,
    "invalid_request",
    ...(
      [
        "repeated_parameter",
        "missing_parameter",
        "malformed_parameter",
        "wrong_content_type",
        "unreadable_body",
        "two_client_credentials",
        "two_client_ids",
        "challenge_required",
        "challenge_malformed",
        "challenge_method",
        "verifier_malformed",
        "response_mode",
        "request_too_long"
      ] as const
    ).map((reason) => new InvalidRequest({ reason, message })),
    ...(
      [
        "client_missing",
        "client_unknown",
        "client_disabled",
        "client_repeated",
        "redirect_uri_missing",
        "redirect_uri_repeated",
        "redirect_uri_not_registered"
      ] as const
    ).map((reason) => new UntrustedRequest({ reason }))
  ],
  [
    401,
    "invalid_client",
    ...(["none_presented", "unknown", "disabled", "bad_secret", "wrong_method", "unreadable"] as const).flatMap(
      (reason) => [true, false].map((triedHeader) => new InvalidClient({ reason, triedHeader }))
    )
  ],
  [
    400,
    "invalid_grant",
    ...(
      [
        "malformed",
        "wrong_kind",
        "unknown_key",
        "forged",
        "expired",
        "unknown",
        "other_client",
        "revoked",
        "not_redeemed",
        "code_replayed",
        "code_replayed_without_verifier",
        "refresh_reused",
        "ahead_of_grant",
        "redirect_uri_differs",
        "verifier_missing",
        "verifier_unexpected",
        "verifier_wrong"
      ] as const
    ).map((reason) => new InvalidGrant({ reason }))
  ],
  [
    400,
    "invalid_scope",
    ...(["none_to_be_had", "wider_than_granted"] as const).map((reason) => new InvalidScope({ reason }))
  ],
  [
    400,
    "invalid_target",
    ...(["malformed", "not_ours", "wider_than_granted"] as const).map((reason) => new InvalidTarget({ reason }))
  ],
  [
    400,
    "unauthorized_client",
    ...(["grant_type_not_registered", "workspace_grant_revoked"] as const).map(
      (reason) => new UnauthorizedClient({ reason })
    )
  ],
  [400, "unsupported_grant_type", new UnsupportedGrantType()],
  [400, "access_denied", new AccessDenied()],
  [400, "unsupported_response_type", new UnsupportedResponseType()],
  [
    403,
    "access_denied",
    new OwnersOnly(),
    ...(["csrf", "ticket", "expired", "field_missing"] as const).map((reason) => new ForgedForm({ reason })),
    new RegistrationRefused({ reason: "closed" })
  ],
  [404, "not_found", new NoSuchRoute({ reason: "path" }), new NoSuchRoute({ reason: "workspace" })],
  [405, "invalid_request", new NoSuchRoute({ reason: "method" })],
  [400, "invalid_redirect_uri", new InvalidRedirectUri({ message })],
  [400, "invalid_client_metadata", new InvalidClientMetadata({ message })],
  [
    401,
    "invalid_token",
    new TokenRequired(),
    ...(["token_missing", "token_wrong"] as const).map((reason) => new RegistrationRefused({ reason })),
    ...(
      [
        "malformed",
        "wrong_kind",
        "unknown_key",
        "forged",
        "expired",
        "unknown",
        "revoked",
        "not_redeemed",
        "client_gone",
        "client_disabled",
        "grant_type_not_registered",
        "bad_secret",
        "other_resource"
      ] as const
    ).map((reason) => new InvalidToken({ reason }))
  ],
  [403, "insufficient_scope", new InsufficientScope({ needed: ["api"] })],
  [
    503,
    "temporarily_unavailable",
    new Contended(),
    new Overloaded(),
    new RegistrationRefused({ reason: "full" }),
    ...(["not_done", "unknown"] as const).map((outcome) => new StorageUnavailable({ outcome, message }))
  ],
  [429, "temporarily_unavailable", new TooManyRequests({ limit: "client", retryAfterSeconds: 9 })]
]

const reasonOf = (fault: Refusal | StorageUnavailable) => ("reason" in fault ? fault.reason : undefined)

/** The tag says it all, or there are words beside it. */
const hasNoReason = new Set<string>([
  "UnsupportedGrantType",
  "UnsupportedResponseType",
  "AccessDenied",
  "OwnersOnly",
  "InvalidRedirectUri",
  "InvalidClientMetadata",
  "TokenRequired",
  "InsufficientScope",
  "Contended",
  "TooManyRequests",
  "Overloaded",
  "StorageUnavailable"
])

describe("what a refusal looks like from outside", () => {
  for (const [status, error, ...refusals] of table) {
    for (const [at, refusal] of refusals.entries()) {
      test(`${refusal._tag} ${reasonOf(refusal)} (${at}): ${status} ${error}`, () => {
        const wire = faultToWire(refusal)
        expect([wire.status, wire.error]).toEqual([status, error])
        expect(wire.description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
        expect(hasNoReason.has(refusal._tag) || reasonOf(refusal) !== undefined).toBe(true)
      })
    }
  }

  test("has the same words for everything that a guesser could learn from", () => {
    for (const secretive of ["invalid_client", "invalid_grant"]) {
      const rows = table.filter(([, error]) => error === secretive)
      const words = rows.flatMap(([, , ...refusals]) => refusals.map((refusal) => faultToWire(refusal).description))
      expect([words.length > 1, new Set(words).size]).toEqual([true, 1])
    }
    const tokens = table.flatMap(([, , ...refusals]) => refusals).filter(({ _tag }) => _tag === "InvalidToken")
    expect(new Set(tokens.map((refusal) => faultToWire(refusal).description)).size).toBe(1)
  })

  test("is told to the client's developer in the words that came with it", () => {
    for (const fault of [
      new InvalidRequest({ reason: "missing_parameter", message }),
      new InvalidRedirectUri({ message }),
      new InvalidClientMetadata({ message })
    ]) {
      expect(faultToWire(fault).description).toBe(message)
    }
  })

  test("names the address and the client of a request that cannot be trusted, for its page", () => {
    const told = { reason: "client_unknown", clientId: "c", redirectUri: "https://a.example" } as const
    expect(new UntrustedRequest(told)).toMatchObject(told)
  })

  test("says when to come back", () => {
    const after = (fault: Refusal | StorageUnavailable) => header(oauthError(fault), "retry-after")
    expect(after(new TooManyRequests({ limit: "client", retryAfterSeconds: 9 }))).toBe("9")
    expect([after(new Contended()), after(new Overloaded())]).toEqual(["1", "1"])
    expect(after(new StorageUnavailable({ outcome: "unknown", message }))).toBe("2")
    expect(after(new AccessDenied())).toBeUndefined()
  })

  test("as a protected resource is a challenge where a token would help, and no more than the words elsewhere", () => {
    const challenge = (fault: Refusal | StorageUnavailable) =>
      header(resourceError(presentations, theWorkspace, fault), "www-authenticate")
    expect(challenge(new InsufficientScope({ needed: ["a", "b"] }))).toContain('scope="a b"')
    expect(challenge(new InvalidToken({ reason: "revoked" }))).not.toContain("scope=")
    const away = resourceError(presentations, theWorkspace, new StorageUnavailable({ outcome: "not_done", message }))
    expect([away.status, header(away, "www-authenticate"), header(away, "retry-after")]).toEqual([503, undefined, "2"])
    expect(header(away, "cache-control")).toBe("no-store")
  })
})
