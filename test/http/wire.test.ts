import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import {
  answerFault,
  faultPage,
  faultToWire,
  oauthError,
  resourceAt,
  resourceError,
  resourceRefusal
} from "../../core/http/faults.ts"
import type { HeaderPairs } from "../../core/http/Http.ts"
import type { Call } from "../../core/http/Route.ts"
import { isAboutProof } from "../../core/oauth/presented/Presentation.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import {
  AccessDenied,
  AuthorizationPending,
  ConsentRequired,
  Contended,
  ExpiredToken,
  ForgedForm,
  InsufficientAuthentication,
  InsufficientScope,
  InteractionRequired,
  InvalidClient,
  InvalidClientMetadata,
  InvalidDpopProof,
  InvalidGrant,
  InvalidRedirectUri,
  InvalidRequest,
  InvalidRequestObject,
  InvalidRequestUri,
  InvalidScope,
  InvalidSubjectToken,
  InvalidTarget,
  InvalidToken,
  InvalidUserCode,
  LoginRequired,
  NoSuchRoute,
  Overloaded,
  OwnersOnly,
  PortUnavailable,
  type Refusal,
  RegistrationRefused,
  RequestNotSupported,
  SlowDown,
  TokenRequired,
  TooManyRequests,
  UnauthorizedClient,
  UnmetAuthentication,
  UnsupportedGrantType,
  UnsupportedResponseType,
  UntrustedRequest,
  UseDpopNonce,
  WorkspaceDisabled,
  WrongCaller
} from "../../core/rules/Refusal.ts"
import { ResourceAddress } from "../../core/rules/Resource.ts"
import { header } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { requestOf, theWorkspace } from "../given/World.ts"

type Row = readonly [status: number, error: string, ...refusals: ReadonlyArray<Refusal | StorageUnavailable>]

const message = "Words."

const invalidRequests = InvalidRequest.fields.reason.literals.map((reason) => new InvalidRequest({ reason, message }))
const untrusted = UntrustedRequest.fields.reason.literals.map((reason) => new UntrustedRequest({ reason }))
const invalidClients = InvalidClient.fields.reason.literals.flatMap((reason) =>
  [true, false].map((triedHeader) => new InvalidClient({ reason, triedHeader }))
)
const invalidGrants = InvalidGrant.fields.reason.literals.map((reason) => new InvalidGrant({ reason }))
const invalidScopes = InvalidScope.fields.reason.literals.map((reason) => new InvalidScope({ reason }))
const invalidTargets = InvalidTarget.fields.reason.literals.map((reason) => new InvalidTarget({ reason }))
const unauthorized = UnauthorizedClient.fields.reason.literals.map((reason) => new UnauthorizedClient({ reason }))
const requestUris = InvalidRequestUri.fields.reason.literals.map((reason) => new InvalidRequestUri({ reason }))
const requestObjects = InvalidRequestObject.fields.reason.literals.map((reason) => new InvalidRequestObject({ reason }))
const subjectTokens = InvalidSubjectToken.fields.reason.literals.map((reason) => new InvalidSubjectToken({ reason }))
const userCodes = InvalidUserCode.fields.reason.literals.map((reason) => new InvalidUserCode({ reason }))
const forgedForms = ForgedForm.fields.reason.literals.map((reason) => new ForgedForm({ reason }))
const tokens = InvalidToken.fields.reason.literals.map((reason) => new InvalidToken({ reason }))
const proofs = InvalidDpopProof.fields.reason.literals.map((reason) => new InvalidDpopProof({ reason }))
const nonces = UseDpopNonce.fields.reason.literals.map((reason) => new UseDpopNonce({ reason, nonce: "n-1" }))
const ports = PortUnavailable.fields.port.literals.map((port) => new PortUnavailable({ port, reason: "away" }))
const unsupported = RequestNotSupported.fields.parameter.literals.map(
  (parameter) => new RequestNotSupported({ parameter })
)
const storageAway = (["not_done", "unknown"] as const).map((outcome) => new StorageUnavailable({ outcome, message }))

/** RFC 6749 §5.2, 6750 §3.1, 7591 §3.2.2, 8707 §2, written down once more: every reason that there is. */
const table: ReadonlyArray<Row> = [
  [400, "invalid_request", ...invalidRequests, ...untrusted, ...userCodes, ...subjectTokens],
  [401, "invalid_client", ...invalidClients],
  [400, "invalid_grant", ...invalidGrants],
  [400, "invalid_scope", ...invalidScopes],
  [400, "invalid_target", ...invalidTargets],
  [400, "unauthorized_client", ...unauthorized],
  [400, "unsupported_grant_type", new UnsupportedGrantType()],
  [400, "access_denied", new AccessDenied()],
  [400, "authorization_pending", new AuthorizationPending()],
  [400, "slow_down", new SlowDown()],
  [400, "expired_token", new ExpiredToken()],
  [400, "login_required", new LoginRequired()],
  [400, "unmet_authentication_requirements", new UnmetAuthentication()],
  [400, "consent_required", new ConsentRequired()],
  [400, "interaction_required", new InteractionRequired({ reason: "place" })],
  [400, "invalid_request_uri", ...requestUris],
  [400, "invalid_request_object", ...requestObjects],
  ...unsupported.map((refusal): Row => [400, `${refusal.parameter}_not_supported`, refusal]),
  [400, "unsupported_response_type", new UnsupportedResponseType()],
  [403, "access_denied", new OwnersOnly(), ...forgedForms, new RegistrationRefused({ reason: "closed" })],
  [404, "not_found", new NoSuchRoute({ reason: "path" }), new NoSuchRoute({ reason: "workspace" })],
  [405, "invalid_request", new NoSuchRoute({ reason: "method" })],
  [400, "invalid_redirect_uri", new InvalidRedirectUri({ message })],
  [400, "invalid_client_metadata", new InvalidClientMetadata({ message })],
  [
    401,
    "invalid_token",
    new TokenRequired(),
    ...(["token_missing", "token_wrong"] as const).map((reason) => new RegistrationRefused({ reason })),
    ...tokens
  ],
  [400, "invalid_dpop_proof", ...proofs],
  [400, "use_dpop_nonce", ...nonces],
  [403, "insufficient_scope", new InsufficientScope({ needed: ["api"] }), new WrongCaller({ needed: ["User"] })],
  [401, "insufficient_user_authentication", new InsufficientAuthentication({ acr: [], maxAge: null })],
  [
    503,
    "temporarily_unavailable",
    new Contended(),
    new Overloaded(),
    new WorkspaceDisabled(),
    new RegistrationRefused({ reason: "full" }),
    ...ports,
    ...storageAway
  ],
  [429, "temporarily_unavailable", new TooManyRequests({ limit: "client", retryAfterSeconds: 9 })]
]

const faults = table.flatMap(([, , ...refusals]) => refusals)

/** Each tag, so that one that is new does not compile before it has a row. */
const tags: Record<(Refusal | StorageUnavailable)["_tag"], true> = {
  AccessDenied: true,
  AuthorizationPending: true,
  ConsentRequired: true,
  Contended: true,
  ExpiredToken: true,
  ForgedForm: true,
  InsufficientAuthentication: true,
  InsufficientScope: true,
  InteractionRequired: true,
  InvalidClient: true,
  InvalidClientMetadata: true,
  InvalidDpopProof: true,
  InvalidGrant: true,
  InvalidRedirectUri: true,
  InvalidRequest: true,
  InvalidRequestObject: true,
  InvalidRequestUri: true,
  InvalidScope: true,
  InvalidSubjectToken: true,
  InvalidTarget: true,
  InvalidToken: true,
  InvalidUserCode: true,
  LoginRequired: true,
  NoSuchRoute: true,
  Overloaded: true,
  OwnersOnly: true,
  PortUnavailable: true,
  RegistrationRefused: true,
  RequestNotSupported: true,
  SlowDown: true,
  StorageUnavailable: true,
  TokenRequired: true,
  TooManyRequests: true,
  UnauthorizedClient: true,
  UnmetAuthentication: true,
  UnsupportedGrantType: true,
  UnsupportedResponseType: true,
  UntrustedRequest: true,
  UseDpopNonce: true,
  WorkspaceDisabled: true,
  WrongCaller: true
}

/** For those whose tag does not say it all. */
const reasonOf = (fault: Refusal | StorageUnavailable) => ("reason" in fault ? fault.reason : undefined)

/** How many answers of a kind can be told apart. */
const wordings = (of: ReadonlyArray<Refusal>): number => new Set(of.map((one) => faultToWire(one).description)).size

describe("what a refusal looks like from outside", () => {
  for (const [status, error, ...refusals] of table) {
    for (const [at, refusal] of refusals.entries()) {
      test(`${refusal._tag} ${reasonOf(refusal)} (${at}): ${status} ${error}`, () => {
        const wire = faultToWire(refusal)
        expect([wire.status, wire.error]).toEqual([status, error])
        expect(wire.description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
      })
    }
  }

  test("is written down for every refusal that there is", () => {
    expect<unknown>([...new Set(faults.map(({ _tag }) => _tag))].sort()).toEqual(Object.keys(tags).sort())
  })

  test("has the same words for everything that a guesser could learn from", () => {
    for (const secretive of [invalidClients, invalidGrants, tokens, subjectTokens, userCodes, forgedForms]) {
      expect([secretive.length > 1, wordings(secretive)]).toEqual([true, 1])
    }
    expect([wordings(requestUris), wordings(requestObjects), wordings(untrusted)]).toEqual([1, 1, 1])
    const kept = (reasons: ReadonlyArray<string>) =>
      wordings(unauthorized.filter(({ reason }) => reasons.includes(reason)))
    // Which of the two is between the owners.
    expect(kept(["approval_awaited", "approval_refused"])).toBe(1)
    expect(
      kept(["grant_type_not_registered", "workspace_grant_revoked", "no_owner_answers", "serves_no_resource"])
    ).toBe(1)
    expect(wordings(invalidTargets.filter(({ reason }) => reason === "malformed" || reason === "not_ours"))).toBe(1)
  })

  test("has words of its own for what the caller can mend", () => {
    expect(wordings(unauthorized)).toBe(3)
    expect(wordings(invalidTargets)).toBe(3)
    expect(wordings(invalidScopes)).toBe(2)
    expect(wordings(proofs)).toBe(proofs.length)
    expect(wordings(unsupported)).toBe(unsupported.length)
    expect(wordings([new NoSuchRoute({ reason: "path" }), new NoSuchRoute({ reason: "method" })])).toBe(2)
    expect(wordings([new InsufficientScope({ needed: [] }), new WrongCaller({ needed: [] })])).toBe(2)
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

  test("says when to come back where that helps, and gives the nonce that is asked for", () => {
    const more = (fault: Refusal | StorageUnavailable): HeaderPairs | undefined => {
      switch (fault._tag) {
        case "TooManyRequests":
          return [["retry-after", "9"]]
        case "Contended":
        case "Overloaded":
          return [["retry-after", "1"]]
        case "StorageUnavailable":
          return [["retry-after", "2"]]
        case "PortUnavailable":
          return [["retry-after", fault.port === "documents" ? "30" : "2"]]
        case "WorkspaceDisabled":
          return [["retry-after", "300"]]
        case "RegistrationRefused":
          return fault.reason === "full" ? [["retry-after", "60"]] : undefined
        case "UseDpopNonce":
          return [["dpop-nonce", "n-1"]]
        default:
          return undefined
      }
    }
    for (const fault of faults) {
      const { description, error, headers, status } = faultToWire(fault)
      expect([fault._tag, headers]).toEqual([fault._tag, more(fault)])
      const whole = oauthError(fault, [["www-authenticate", "X"]])
      expect([whole.status, JSON.parse(whole.body)]).toEqual([status, { error, error_description: description }])
      expect(whole.headers).toEqual([
        ["content-type", "application/json"],
        ["cache-control", "no-store"],
        ["pragma", "no-cache"],
        ["www-authenticate", "X"],
        ...(headers ?? [])
      ])
      expect(oauthError(fault).headers).toEqual(whole.headers.filter(([name]) => name !== "www-authenticate"))
    }
  })

  const here = "https://auth.example.com/.well-known/oauth-protected-resource"

  test.each<readonly [Refusal | StorageUnavailable, status: number, parameters: string | undefined]>([
    [new TokenRequired(), 401, 'METADATA, scope="read write"'],
    [new InvalidToken({ reason: "revoked" }), 401, 'ERROR, scope="read write", METADATA'],
    [new InsufficientScope({ needed: ["a", "b"] }), 403, 'ERROR, scope="a b", METADATA'],
    [new WrongCaller({ needed: ["User"] }), 403, "ERROR, METADATA"],
    [
      new InsufficientAuthentication({ acr: ['l"1', "l2"], maxAge: 0 }),
      401,
      'ERROR, scope="read write", acr_values="l1 l2", max_age="0", METADATA'
    ],
    [new InsufficientAuthentication({ acr: [], maxAge: null }), 401, 'ERROR, scope="read write", METADATA'],
    [new InvalidDpopProof({ reason: "proof_forged" }), 401, 'ERROR, scope="read write", METADATA'],
    [new UseDpopNonce({ reason: "nonce_stale", nonce: "n-1" }), 401, 'ERROR, scope="read write", METADATA'],
    [new InvalidRequest({ reason: "missing_parameter", message }), 400, undefined],
    [new StorageUnavailable({ outcome: "unknown", message }), 503, undefined],
    [new Contended(), 503, undefined]
  ])("as a protected resource refuses, with the way to a token where one would help: %p", (fault, status, expected) => {
    const wire = faultToWire(fault)
    const parameters = expected
      ?.replace("METADATA", `resource_metadata="${here}"`)
      .replace("ERROR", `error="${wire.error}", error_description="${wire.description}"`)
    const told = presentations.flatMap(({ challenge }) =>
      parameters === undefined ? [] : (challenge?.([parameters], fault) ?? [])
    )
    const answer = resourceRefusal(presentations, here, fault, ["read", "write"])
    expect(answer.status).toBe(status)
    expect(header(answer, "www-authenticate")).toBe(told.length === 0 ? undefined : told.join(", "))
    expect(told.length).toBe(parameters === undefined ? 0 : isAboutProof(fault) ? 1 : 2)
    const body = { error: wire.error, error_description: wire.description }
    expect(answer.body === "" ? undefined : JSON.parse(answer.body)).toEqual(
      fault._tag === "TokenRequired" ? undefined : body
    )
    expect(header(answer, "cache-control")).toBe("no-store")
    for (const [name, value] of wire.headers ?? []) expect(header(answer, name)).toBe(value)
    // No field but these, each with a value, and no challenge where no way to show a token has one.
    const named = answer.headers.map((pair) => [pair[0], pair.length])
    expect(named.length).toBe(
      2 + (answer.body === "" ? 0 : 1) + (told.length === 0 ? 0 : 1) + (wire.headers?.length ?? 0)
    )
    expect(named.every(([, length]) => length === 2)).toBe(true)
    const unshown = resourceRefusal([], here, fault, ["read", "write"]).headers
    expect(unshown.map(([name]) => name)).toEqual(
      answer.headers.map(([name]) => name).filter((name) => name !== "www-authenticate")
    )
    // What the route needs is told where it needs something.
    const open = header(resourceRefusal(presentations, here, fault, []), "www-authenticate")
    expect(open).toBe(header(answer, "www-authenticate")?.replaceAll(', scope="read write"', ""))
  })

  test("as a protected resource leads to the metadata of that resource", () => {
    const at = (resource?: string) =>
      header(resourceError(presentations, theWorkspace, new TokenRequired(), { resource }), "www-authenticate")
    const own = `${theWorkspace.issuer}/.well-known/oauth-protected-resource`
    expect(at()).toContain(`resource_metadata="${own}"`)
    expect(at()).not.toContain("scope=")
    expect(at("/orders")).toContain(`resource_metadata="${own}/orders"`)
    expect(at("https://api.example.com/v1")).toContain(
      'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/v1"'
    )
  })

  test("belongs to the listed API that the path is a part of", () => {
    const listed = { at: ResourceAddress.make(`${theWorkspace.issuer}/mcp`), name: "Tools" }
    expect(resourceAt(theWorkspace, "/mcp/x")).toBeUndefined()
    const workspace = { ...theWorkspace, resources: [listed] }
    expect([resourceAt(workspace, "/mcp/x"), resourceAt(workspace, "/other")]).toEqual([listed.at, undefined])
  })
})

const callTo = (path: string): Call => ({
  request: requestOf("GET", path, {}),
  workspace: theWorkspace,
  path,
  endpoint: path,
  now: Instant.make(0),
  requestId: "req-1"
})

const inPages = <A>(body: (pages: Pages["Service"]) => A): Promise<A> =>
  Effect.runPromise(Effect.map(Pages, body).pipe(Effect.provide(Pages.layer())))

describe("where a refusal came up", () => {
  test("it is answered as that route answers", () =>
    inPages((pages) => {
      const clientAuths = new Map(Object.entries({ basic: { scheme: "Basic" }, other: { scheme: "Other" }, post: {} }))
      const services = { pages, presentations, clientAuths }
      const challenges = (errors: "oauth" | "bearer" | "page", fault: Refusal) =>
        answerFault(services, callTo("/x"), { errors, scopes: ["read"] }, fault).headers.flatMap((pair) => {
          expect(pair).toHaveLength(2)
          return pair[0] === "www-authenticate" ? [pair[1]] : []
        })
      const schemes = ['Basic realm="oauth"', 'Other realm="oauth"']
      expect(challenges("oauth", new InvalidClient({ reason: "unknown", triedHeader: true }))).toEqual(schemes)
      expect(challenges("oauth", new InvalidClient({ reason: "unknown", triedHeader: false }))).toEqual([])
      for (const [reason, told] of [
        ["token_missing", ["Bearer"]],
        ["token_wrong", ["Bearer"]],
        ["closed", []],
        ["full", []]
      ] as const) {
        expect([reason, challenges("oauth", new RegistrationRefused({ reason }))]).toEqual([reason, [...told]])
      }
      for (const fault of [new TokenRequired(), new InvalidToken({ reason: "expired" })]) {
        for (const errors of ["oauth", "bearer"] as const) {
          const [told = ""] = challenges(errors, fault)
          expect(told).toContain('scope="read"')
          expect(told).toContain("resource_metadata=")
        }
        expect(challenges("page", fault)).toEqual([])
      }
      expect(challenges("oauth", new InsufficientScope({ needed: [] }))).toEqual([])
      expect(challenges("bearer", new InsufficientScope({ needed: [] }))).toHaveLength(1)
    }))

  test("a page says what it is and leads on", () =>
    inPages((pages) => {
      const expected = (fault: Refusal | StorageUnavailable): readonly [name: string, next: string | undefined] => {
        switch (fault._tag) {
          case "TooManyRequests":
            return ["rate-limited", undefined]
          case "InvalidRequestUri":
            return ["request-uri", undefined]
          case "InvalidRequest":
            return [fault.reason === "request_too_long" ? "request-too-long" : "not-understood", undefined]
          case "ForgedForm":
            return ["form-expired", "/some/form"]
          case "OwnersOnly":
            return ["owners-only", "/settings"]
          case "NoSuchRoute":
            return [fault.reason === "method" ? "wrong-method" : "page-not-found", "/"]
          case "PortUnavailable":
            return [fault.port === "documents" ? "client-document" : "unavailable", undefined]
          case "StorageUnavailable":
          case "Contended":
          case "Overloaded":
            return ["unavailable", undefined]
          case "WorkspaceDisabled":
            return ["workspace-disabled", undefined]
          default:
            return ["not-understood", undefined]
        }
      }
      for (const fault of faults) {
        if (fault._tag === "UntrustedRequest") continue
        const answer = faultPage(pages, callTo("/some/form"), fault)
        const [name, next] = expected(fault)
        const about = [fault._tag, reasonOf(fault)]
        expect([about, answer.status, pageName(answer)]).toEqual([
          about,
          faultToWire(fault).status,
          name === "rate-limited" ? name : `error-${name}`
        ])
        const links = [...answer.body.matchAll(/<a class="button[^"]*" href="([^"]*)"/g)].map(([, href]) => href)
        expect([about, links]).toEqual([about, next === undefined ? [] : [next]])
        expect(answer.body).toContain("req-1")
        const { headers = [] } = faultToWire(fault)
        expect(answer.headers.every((pair) => pair.length === 2)).toBe(true)
        expect(answer.headers.filter(([written]) => written === "retry-after" || written === "dpop-nonce")).toEqual([
          ...headers
        ])
      }
    }))

  test("a forged form begins again at its own page, at the one that it names, and for consent nowhere", () =>
    inPages((pages) => {
      const next = (path: string, startAgainAt?: string) => {
        const forged = new ForgedForm({ reason: "csrf", ...(startAgainAt === undefined ? {} : { startAgainAt }) })
        return /<a class="button[^"]*" href="([^"]*)"/.exec(faultPage(pages, callTo(path), forged).body)?.[1]
      }
      expect([next("/settings/keys"), next("/consent"), next("/consent", "/device")]).toEqual([
        "/settings/keys",
        undefined,
        "/device"
      ])
    }))
})
