import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import {
  type Answering,
  type AuthorizationRequest,
  approve,
  deny,
  queryOf,
  requestKind,
  shownOf,
  type Waiting
} from "../../core/request/AuthorizationRequest.ts"
import { AuthorizationRequestId, ClientId, GrantId, UserId } from "../../core/rules/Id.ts"
import { RedirectTarget, RedirectUri } from "../../core/rules/RedirectUri.ts"
import { Resource } from "../../core/rules/Resource.ts"
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
    const changes = [{ about: { client_name: "Bank" } }, { madeBy: "owner" }] as const
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
})
