import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { ClientIdentifier, DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import { deviceCode } from "../../core/oauth/grants/deviceCode.ts"
import {
  type Answering,
  type AuthorizationRequest,
  approve,
  deny,
  identifierIn,
  mayAsk,
  polled,
  queryOf,
  requestKind,
  shownOf,
  termsFault,
  termsOf,
  type Waiting
} from "../../core/request/AuthorizationRequest.ts"
import { AuthorizationRequestId, ClientId, GrantId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { RedirectTarget, RedirectUri } from "../../core/rules/RedirectUri.ts"
import type { UntrustedRequest } from "../../core/rules/Refusal.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { UserCode } from "../../core/rules/UserCode.ts"
import { after, approved, client, policy, scopes, t0 } from "../grant/given.ts"

const grant = GrantId.make("g".repeat(22))
const another = GrantId.make("h".repeat(22))
const alice = UserId.make("alice")

const place = { _tag: "Redirect", target: RedirectTarget.make("https://app.example.org/cb"), state: "a%20b" } as const

const waiting: Waiting = {
  _tag: "Waiting",
  id: AuthorizationRequestId.make("r".repeat(22)),
  client: client().id,
  expiresAt: after(1000),
  to: place,
  scope: scopes("api"),
  scopeByDefault: false,
  resources: null,
  challenge: approved().challenge
}

const secret = digestOf("the secret of a device")
const tv = client({ grantTypes: [deviceCode.name] })
const asked: Waiting = { ...waiting, to: { _tag: "Device", secret, code: UserCode.make("BCDFGHJK") } }

const step = (over: Partial<Answering> = {}): Answering => ({
  waiting,
  shown: shownOf(client()),
  client: client(),
  person: alice,
  policy,
  now: t0,
  ...over
})

const kept = (found: AuthorizationRequest | undefined): AuthorizationRequest => {
  if (found === undefined) throw new Error("nothing was kept")
  return found
}
const yes = kept(approve(undefined, step(), grant).next)
const no = kept(deny(undefined, step()).next)

const outcome = (decision: ReturnType<typeof approve>) => Result.getOrThrow(decision.outcome)
const refusal = (decision: ReturnType<typeof approve>) => Result.getOrThrow(Result.flip(decision.outcome))

describe("an authorization request", () => {
  test("is approved once: the grant of the first approval is that of every other", () => {
    expect(yes).toMatchObject({ _tag: "Approved", id: waiting.id, user: "alice", grant, answeredAt: t0 })
    const again = approve(yes, step(), another)
    expect(again.next).toBeUndefined()
    expect(outcome(again)).toMatchObject({ _tag: "Approved", grant })
  })

  test("that was denied stays denied", () => {
    expect(no).toMatchObject({ _tag: "Denied", id: waiting.id, user: "alice", answeredAt: t0 })
    expect(approve(no, step(), grant).next).toBeUndefined()
    expect(outcome(approve(no, step(), grant))).toMatchObject({ _tag: "Denied", anew: false })
    expect(deny(no, step()).next).toBeUndefined()
    expect(outcome(deny(no, step()))).toMatchObject({ _tag: "Denied", anew: false })
  })

  test("that was approved is denied only after its grant has ended", () => {
    for (const ended of [undefined, another]) {
      expect(deny(yes, step(), ended).next).toBeUndefined()
      expect(outcome(deny(yes, step(), ended))).toMatchObject({ _tag: "Approved", grant })
    }
    expect(deny(yes, step(), grant).next).toMatchObject({ _tag: "Denied", user: "alice" })
    expect(outcome(deny(yes, step(), grant))).toMatchObject({ _tag: "Denied", anew: true })
  })

  test("that is a record while it waits is answered as one that is none", () => {
    expect(approve(waiting, step(), grant).next).toEqual(yes)
    expect(deny(waiting, step()).next).toEqual(no)
  })

  test("that was pushed has an answer only as long as its record is there", () => {
    const pushed = { ...waiting, pushed: { until: t0 } }
    for (const decided of [
      approve(undefined, step({ waiting: pushed }), grant),
      deny(undefined, step({ waiting: pushed }))
    ]) {
      expect(decided.next).toBeUndefined()
      expect(outcome(decided)).toMatchObject({ _tag: "Expired" })
    }
    expect(approve(pushed, step({ waiting: pushed }), grant).next).toEqual(yes)
  })

  test("that was not pushed is returned where its client has to push", () => {
    const strict = client({ members: { require_pushed_authorization_requests: true } })
    for (const now of [step({ client: strict }), step({ policy: { ...policy, requirePush: true } })]) {
      expect(outcome(approve(undefined, now, grant))).toMatchObject({
        _tag: "Returned",
        refusal: { _tag: "InvalidRequest", reason: "request_not_pushed" }
      })
      const pushed = { ...waiting, pushed: { until: t0 } }
      expect(approve(pushed, { ...now, waiting: pushed }, grant).next).toEqual(yes)
    }
  })

  test("is answered by one person, and in time", () => {
    const bob = step({ person: UserId.make("bob") })
    for (const decided of [approve(yes, bob, another), deny(yes, bob), approve(no, bob, another), deny(no, bob)]) {
      expect(decided.next).toBeUndefined()
      expect(refusal(decided)).toMatchObject({ _tag: "ForgedForm", reason: "ticket" })
    }
    const late = step({ now: waiting.expiresAt })
    for (const found of [undefined, yes, no]) {
      for (const decided of [approve(found, late, another), deny(found, late)]) {
        expect(decided.next).toBeUndefined()
        expect(outcome(decided)).toMatchObject({ _tag: "Expired" })
      }
    }
  })

  const unreachable = [
    ["client_unknown", undefined],
    ["client_unknown", client({ expiresAt: t0 })],
    ["client_disabled", client({ disabled: true })],
    ["redirect_uri_not_registered", client({ redirectUris: [RedirectUri.make("https://app.example.org/other")] })]
  ] as const
  for (const [reason, now] of unreachable) {
    test(`has no answer where its client is by then: ${reason}`, () => {
      for (const found of [undefined, yes, no]) {
        for (const decided of [approve(found, step({ client: now }), another), deny(found, step({ client: now }))]) {
          expect(decided.next).toBeUndefined()
          expect(refusal(decided)).toMatchObject({ _tag: "UntrustedRequest", reason })
        }
      }
    })
  }

  test("is approved only as it was shown", () => {
    const changes = [
      { about: { client_name: "Bank" } },
      { madeBy: "owner" },
      { about: { tos_uri: "https://app.example.org/terms" } },
      { about: { policy_uri: "https://app.example.org/policy" } }
    ] as const
    for (const change of changes) {
      const changed = step({ client: client(change) })
      expect(approve(undefined, changed, grant).next).toBeUndefined()
      expect(refusal(approve(undefined, changed, grant))).toMatchObject({ _tag: "ForgedForm", reason: "ticket" })
      expect(outcome(deny(undefined, changed))).toMatchObject({ _tag: "Denied" })
    }
    // An owner holds it to its scopes; by itself it could register again for others.
    const held = client({ madeBy: "owner", scope: scopes("profile") })
    const ofOwner = step({ shown: shownOf(held), client: held })
    expect(refusal(approve(undefined, ofOwner, grant))).toMatchObject({ _tag: "ForgedForm", reason: "ticket" })
    const own = step({ client: client({ scope: scopes("profile") }) })
    expect(outcome(approve(undefined, own, grant))).toMatchObject({ _tag: "Approved" })
    const unknown = step({ waiting: { ...waiting, scope: scopes("gone") }, client: client({ scope: scopes("gone") }) })
    expect(refusal(approve(undefined, unknown, grant))).toMatchObject({ _tag: "ForgedForm" })
  })

  test("that its client may not make any more is told to the client", () => {
    const without = { ...waiting, challenge: null }
    const told = [
      [step({ client: client({ grantTypes: ["client_credentials"] }) }), "UnauthorizedClient"],
      [step({ waiting: without }), "InvalidRequest"]
    ] as const
    for (const [now, _tag] of told) {
      expect(approve(undefined, now, grant).next).toBeUndefined()
      expect(outcome(approve(undefined, now, grant))).toMatchObject({ _tag: "Returned", refusal: { _tag } })
    }
  })

  test("stands in its client's list in every state, and goes a day after its last answer could count", () => {
    for (const request of [waiting, yes, no]) {
      expect(requestKind.owner(request)).toBe(`client:${ClientId.make("c".repeat(22))}`)
      const margin = request._tag === "Waiting" ? 0 : 24 * 60 * 60 * 1000
      expect<number | null>(requestKind.expiresAt(request)).toBe(waiting.expiresAt + margin)
    }
  })

  test("can be made again as it came", () => {
    const asked = {
      ...waiting,
      scope: scopes("api", "profile"),
      resources: [Resource.make("https://auth.example/rest")] as const
    }
    expect([...new URLSearchParams(queryOf(asked, place))]).toEqual([
      ["response_type", "code"],
      ["client_id", waiting.client],
      ["redirect_uri", place.target],
      ["scope", "api profile"],
      ["state", "a b"],
      ["code_challenge", String(waiting.challenge)],
      ["code_challenge_method", "S256"],
      ["resource", "https://auth.example/rest"]
    ])
    const bare = { ...waiting, scopeByDefault: true, challenge: null }
    expect([...new URLSearchParams(queryOf(bare, { ...place, state: null })).keys()]).toEqual([
      "response_type",
      "client_id",
      "redirect_uri"
    ])
  })

  test("keeps of its answer who gave it and when, and of a device the digest of its secret", () => {
    const { client, expiresAt, id } = waiting
    const said = { id, client, expiresAt, user: alice, answeredAt: t0 }
    expect<unknown>([yes, no]).toEqual([
      { _tag: "Approved", ...said, grant },
      { _tag: "Denied", ...said }
    ])
    const atDevice = step({ waiting: asked, client: tv, shown: shownOf(tv) })
    expect<unknown>([approve(asked, atDevice, grant).next, deny(asked, atDevice).next]).toEqual([
      { _tag: "Approved", ...said, secret, grant },
      { _tag: "Denied", ...said, secret }
    ])
    for (const decided of [approve(undefined, atDevice, grant), deny(undefined, atDevice)]) {
      expect(decided.next).toBeUndefined()
      expect(outcome(decided)).toMatchObject({ _tag: "Expired" })
    }
  })

  test("tells where a browser was going to that is sent nowhere", () => {
    for (const [to, told] of [
      [waiting, { redirectUri: place.target }],
      [asked, {}]
    ] as const) {
      const { _tag, clientId, reason, ...more } = refusal(
        approve(undefined, step({ waiting: to, client: undefined }), grant)
      ) as UntrustedRequest
      expect<unknown>([_tag, clientId, reason]).toEqual(["UntrustedRequest", waiting.client, "client_unknown"])
      expect<unknown>({ redirectUri: more.redirectUri }).toEqual({ redirectUri: undefined, ...told })
    }
  })

  test("is shown with its client's name, with who made it, and with what it said in its document", () => {
    expect(shownOf(client())).toEqual({ name: null, madeBy: "itself" })
    expect(shownOf(client({ about: { client_name: "App" }, madeBy: "owner" }))).toEqual({
      name: "App",
      madeBy: "owner"
    })
    const digest = digestOf("document")
    const origin = {
      identifier: DocumentAddress.make("https://a.example/c.json"),
      since: after(0),
      document: { host: "a.example", fetchedAt: t0, freshUntil: t0, digest }
    }
    expect(shownOf(client({ origin }))).toEqual({ name: null, madeBy: "itself", digest })
  })

  test("of an earlier release is read as it was meant", () => {
    const [first, second] = requestKind.upcast
    const body = { id: "one", other: 1 }
    expect(first?.({ ...body, _tag: "Waiting", resource: "https://a.example" })).toEqual({
      ...body,
      _tag: "Waiting",
      resources: ["https://a.example"]
    })
    expect(first?.({ ...body, _tag: "Waiting", resource: null })).toEqual({ ...body, _tag: "Waiting", resources: null })
    expect(first?.({ ...body, _tag: "Denied" })).toEqual({ ...body, _tag: "Denied" })
    const target = "https://a.example/cb"
    expect(second?.({ ...body, _tag: "Waiting", target, state: null })).toEqual({
      ...body,
      _tag: "Waiting",
      to: { _tag: "Redirect", target, state: null }
    })
    expect(second?.({ ...body, _tag: "Waiting", to: 1 })).toEqual({ ...body, _tag: "Waiting", to: 1 })
    for (const half of [{ target }, { state: "s" }]) {
      expect(second?.({ ...body, _tag: "Waiting", ...half })).not.toHaveProperty("to")
    }
    expect(second?.({ ...body, _tag: "Approved", target, state: "s" })).not.toHaveProperty("to")
  })

  test("is refused by what its client may ask, before what it asks for", () => {
    const strict = client({ members: { require_pushed_authorization_requests: true } })
    const without = { ...waiting, challenge: null }
    const rows: ReadonlyArray<readonly [Waiting, ReturnType<typeof client>, string | undefined]> = [
      [waiting, client(), undefined],
      [waiting, client({ grantTypes: ["client_credentials"] }), "grant_type_not_registered"],
      [asked, client(), "grant_type_not_registered"],
      [asked, tv, undefined],
      [{ ...asked, challenge: null }, tv, undefined],
      [waiting, tv, "grant_type_not_registered"],
      [without, strict, "request_not_pushed"],
      [without, client(), "challenge_required"],
      [{ ...waiting, scope: scopes("gone") }, client(), "none_to_be_had"],
      [waiting, client({ madeBy: "owner", scope: scopes("profile") }), "none_to_be_had"],
      // The server had this scope when the client registered, and has it no more.
      [{ ...waiting, scope: scopes("gone") }, client({ madeBy: "owner", scope: scopes("gone") }), "none_to_be_had"]
    ]
    for (const [request, by, reason] of rows) expect<unknown>(termsFault(by, request, policy)?.reason).toBe(reason)
    // FAPI 2.0 has no flow of devices.
    const held = client({ grantTypes: [deviceCode.name], members: { security_profile: "fapi2" } })
    expect([mayAsk(held, asked.to, policy), mayAsk(tv, asked.to, policy)]).toEqual([false, true])
  })
})

describe("a device that polls (RFC 8628 §3.5)", () => {
  const shows = { client: waiting.client, now: t0, secret }
  const { client: by, expiresAt, id } = waiting
  const said = { id, client: by, expiresAt, user: alice, answeredAt: t0, secret } as const
  const approvedOnce: AuthorizationRequest = { _tag: "Approved", ...said, grant }
  const denied: AuthorizationRequest = { _tag: "Denied", ...said }
  const other = digestOf("another")
  const elsewhere = ClientId.make("x".repeat(22))
  const late = waiting.expiresAt
  const rows: ReadonlyArray<
    readonly [AuthorizationRequest | undefined, Partial<Parameters<typeof polled>[1]>, object | string]
  > = [
    [asked, {}, { _tag: "AuthorizationPending" }],
    [approvedOnce, {}, grant],
    [denied, {}, { _tag: "AccessDenied" }],
    [undefined, {}, { _tag: "ExpiredToken" }],
    [waiting, {}, { _tag: "ExpiredToken" }],
    [yes, {}, { _tag: "ExpiredToken" }],
    ...[asked, approvedOnce, denied].flatMap((found) => [
      [found, { secret: other }, { _tag: "ExpiredToken" }] as const,
      [found, { client: elsewhere }, { _tag: "InvalidGrant", reason: "other_client" }] as const
    ]),
    [asked, { now: late }, { _tag: "ExpiredToken" }],
    [approvedOnce, { now: late }, { _tag: "ExpiredToken" }],
    [denied, { now: late }, { _tag: "AccessDenied" }]
  ]
  test.each(rows.map(([found, over, told]) => [found?._tag, over, told, found] as const))(
    "finds %p, showing %j: %j",
    (_, over, told, found) => {
      const answer = polled(found, { ...shows, ...over })
      if (typeof told === "string") expect<string>(Result.getOrThrow(answer)).toBe(told)
      else expect(Result.getOrThrow(Result.flip(answer))).toMatchObject(told)
    }
  )
})

describe("the terms of an approval", () => {
  test("are what was asked for, and when a device has to fetch it by", () => {
    const { challenge, client: by, expiresAt, scope } = waiting
    const common = { client: by, user: alice, challenge, scope, resources: null, codeTtl: 60_000 }
    const held = { codeTtl: 60_000 }
    expect<unknown>(termsOf(waiting, alice, held)).toEqual({ ...common, redirectUri: place.target })
    expect<unknown>(termsOf(asked, alice, held)).toEqual({ ...common, fetchedBy: expiresAt })
    const more = {
      binding: { thumbprint: digestOf("key") },
      place: PlaceId.make("acme"),
      resources: [Resource.make("https://auth.example/rest")] as const
    }
    expect<unknown>(termsOf({ ...waiting, ...more }, alice, held, { nonce: "n" })).toEqual({
      ...common,
      ...more,
      redirectUri: place.target,
      authentication: { nonce: "n" }
    })
  })
})

describe("a request as a browser would bring it again", () => {
  const head = `response_type=code&client_id=${waiting.client}&redirect_uri=https%3A%2F%2Fapp.example.org%2Fcb`
  const bare: Waiting = { ...waiting, scopeByDefault: true, challenge: null }
  const nowhere = { ...place, state: null }
  const document = ClientIdentifier.make("https://app.example.org/client.json")
  const rows: ReadonlyArray<readonly [what: string, request: Partial<Waiting>, tail: string]> = [
    ["bare", {}, ""],
    ["with scopes", { scopeByDefault: false, scope: scopes("api", "profile") }, "&scope=api%20profile"],
    [
      "to act while its person is away",
      { scopeByDefault: false, scope: scopes("api"), signIn: { offline: true } },
      "&scope=api%20offline_access"
    ],
    ["with no scope but that", { signIn: { offline: true } }, "&scope=offline_access"],
    ["with a key", { binding: { thumbprint: digestOf("key") } }, `&dpop_jkt=${digestOf("key")}`],
    ["with prompts", { prompt: ["login", "consent"] }, "&prompt=login%20consent"],
    ["with a place", { placeHint: "acme & co" }, "&place_hint=acme%20%26%20co"],
    ["with a nonce", { signIn: { nonce: "a b" } }, "&nonce=a%20b"],
    ["with an age", { signIn: { maxAge: 0 } }, "&max_age=0"],
    ["with strengths", { signIn: { acr: ["a", "b"] } }, "&acr_values=a%20b"],
    ["with a hint", { signIn: { loginHint: "ada@example.com" } }, "&login_hint=ada%40example.com"],
    [
      "with strengths that have to be, where no person signs in",
      { signIn: { acr: ["a", "b"], acrRequired: true } },
      "&acr_values=a%20b"
    ],
    [
      "with a strength that has to be, and with claims",
      { scope: scopes("openid"), signIn: { acr: ["a"], acrRequired: true, claims: ["acr", "email"], sub: "ada" } },
      `&claims=${encodeURIComponent('{"id_token":{"acr":{"essential":true,"values":["a"]},"email":null,"sub":{"value":"ada"}}}')}`
    ],
    [
      "with any of several people",
      { scope: scopes("openid"), signIn: { sub: ["ada", "bob"] } },
      `&claims=${encodeURIComponent('{"id_token":{"sub":{"values":["ada","bob"]}}}')}`
    ]
  ]
  test.each(rows)("%s", (_, request, tail) => expect(queryOf({ ...bare, ...request }, nowhere)).toBe(head + tail))

  test("names its client as the client does", () => {
    expect<string>(identifierIn(bare)).toBe(bare.client)
    expect(queryOf({ ...bare, identifier: document }, nowhere)).toStartWith(
      `response_type=code&client_id=${encodeURIComponent(document)}&`
    )
  })
})
