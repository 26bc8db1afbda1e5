import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import type { Grant } from "../../../core/grant/Grant.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { deviceCode } from "../../../core/oauth/grants/deviceCode.ts"
import { CodeVerifier } from "../../../core/rules/Pkce.ts"
import { Resource } from "../../../core/rules/Resource.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import {
  active,
  after,
  fresh,
  key,
  me,
  pending,
  policy,
  scopes,
  sentBy,
  standing,
  stranger,
  t0,
  verifier
} from "../../grant/given.ts"

type Step = Parameters<typeof deviceCode.decide>[1]

const step = (over: Partial<Step> = {}): Step => ({
  by: me,
  form: { code_verifier: verifier },
  resources: null,
  taken: null,
  binding: null,
  markSender: sentBy({}),
  policy,
  now: after(7),
  fresh,
  ...over
})

const rest = Resource.make("https://auth.example.com/rest")
const other = Resource.make("https://auth.example.com/other")
const thumbprint = digestOf("key")

describe("what a person approved for a device (RFC 8628 §3.5)", () => {
  test("becomes tokens, once, from when it was approved on", () => {
    const { next, outcome } = deviceCode.decide(pending(), step())
    const { challenge, client, createdAt, id, resources, scope, subject } = pending()
    expect(next).toEqual({
      _tag: "Active",
      ...{ id, client, subject, scope, resources, createdAt, challenge },
      access: { epoch: 0, revoked: [] },
      refresh: {
        generation: 1,
        issuedAt: after(7),
        expiresAt: after(7 + policy.refreshIdleTtl),
        key: fresh.key,
        rotatedBy: null
      },
      retriedElsewhereAt: null,
      endsAt: after(policy.refreshMaxTtl)
    })
    expect(Result.getOrThrow(outcome)).toMatchObject({
      access: { kind: "access", grant: id, expiresAt: after(7 + policy.accessTtl), serial: fresh.serial },
      refresh: { key: fresh.key, token: { kind: "refresh", grant: id, generation: 1 } },
      scope
    })
  })

  const ended = revoked(active(), "by_user", policy, t0)
  const rows: ReadonlyArray<readonly [what: string, found: Grant | undefined, over: Partial<Step>, refusal: object]> = [
    ["that is not written yet", undefined, {}, { _tag: "AuthorizationPending" }],
    ["that is a client's own", standing(), {}, { _tag: "InvalidGrant", reason: "wrong_kind" }],
    ["that is a key", key(), {}, { _tag: "InvalidGrant", reason: "wrong_kind" }],
    ["of another client", pending(), { by: stranger }, { _tag: "InvalidGrant", reason: "other_client" }],
    ["that another client fetched", active(), { by: stranger }, { _tag: "InvalidGrant", reason: "other_client" }],
    ["that has ended", ended, {}, { _tag: "InvalidGrant", reason: "revoked" }],
    ["without its verifier", pending(), { form: {} }, { _tag: "InvalidGrant", reason: "verifier_missing" }],
    [
      "with another verifier",
      pending(),
      { form: { code_verifier: CodeVerifier.make("w".repeat(43)) } },
      { _tag: "InvalidGrant", reason: "verifier_wrong" }
    ],
    [
      "with a verifier of nothing",
      pending({ challenge: null }),
      {},
      { _tag: "InvalidGrant", reason: "verifier_unexpected" }
    ],
    ["again without its verifier", active(), { form: {} }, { _tag: "InvalidGrant", reason: "verifier_missing" }],
    ["bound to a key", pending({ binding: { thumbprint } }), {}, { _tag: "InvalidGrant", reason: "binding_differs" }],
    [
      "bound to another key",
      pending({ binding: { thumbprint } }),
      { binding: { thumbprint: digestOf("another") } },
      { _tag: "InvalidGrant", reason: "binding_differs" }
    ],
    [
      "for another resource",
      pending({ resources: [rest] }),
      { resources: [other] },
      { _tag: "InvalidTarget", reason: "wider_than_granted" }
    ],
    ["for a resource that takes none of it", pending(), { taken: [] }, { _tag: "InvalidTarget", reason: "takes_none" }]
  ]
  test.each(rows)("%s is refused, and left as it is", (_, found, over, refusal) => {
    const { next, outcome } = deviceCode.decide(found, step(over))
    expect(next).toBeUndefined()
    expect(Result.getOrThrow(Result.flip(outcome))).toMatchObject(refusal)
  })

  test("a second time ends what the first one got", () => {
    const { next, outcome } = deviceCode.decide(active(), step())
    expect(next).toEqual(revoked(active(), "code_replayed", policy, after(7)))
    expect(Result.getOrThrow(Result.flip(outcome))).toMatchObject({ reason: "code_replayed", ended: "gggggggg" })
  })

  test("is good by the proof of its key, and for less than was approved", () => {
    const bound = pending({ binding: { thumbprint } })
    const { outcome } = deviceCode.decide(bound, step({ binding: { thumbprint } }))
    expect(Result.getOrThrow(outcome).access).toMatchObject({ binding: { thumbprint } })
    const narrowed = deviceCode.decide(
      pending({ resources: [rest, other] }),
      step({ resources: [rest], taken: scopes("api") })
    )
    expect(Result.getOrThrow(narrowed.outcome)).toMatchObject({ scope: ["api"], access: { resources: [rest] } })
    expect(narrowed.next).toMatchObject({ resources: [rest, other], scope: ["api", "profile"] })
    expect(Result.isSuccess(deviceCode.decide(pending({ challenge: null }), step({ form: {} })).outcome)).toBe(true)
  })

  test("is served where devices are, and no profile is against them", () => {
    expect(deviceCode.offered?.(policy)).toBe(policy.devices)
    expect(deviceCode.offered?.({ ...policy, devices: true })).toBe(true)
    expect(deviceCode.offered?.({ ...policy, devices: false })).toBe(false)
    expect(deviceCode.offered?.({ ...policy, devices: true, profile: "fapi2" })).toBe(false)
  })
})
