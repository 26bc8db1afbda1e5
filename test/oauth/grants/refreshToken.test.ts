import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import type { Binding } from "../../../core/grant/Binding.ts"
import type { Active } from "../../../core/grant/Grant.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { markSender, type Sender } from "../../../core/grant/Sender.ts"
import { GrantId } from "../../../core/rules/Id.ts"
import { InvalidGrant, InvalidScope, InvalidTarget } from "../../../core/rules/Refusal.ts"
import { Resource } from "../../../core/rules/Resource.ts"
import type { Scopes } from "../../../core/rules/Scope.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { makeSealer, sealKey } from "../../../core/token/KeyRing.ts"
import {
  active,
  after,
  fresh,
  fresher,
  grantId,
  home,
  key,
  me,
  pending,
  policy,
  presenting,
  refresh,
  ring,
  scopes,
  sentBy,
  standing,
  stranger,
  t0
} from "../../grant/given.ts"

const ask = (grant: Active, generation?: number) => ({
  presented: presenting(grant, generation),
  scope: undefined,
  resources: null
})

const rotated = (grant: Active, at = t0): Active => {
  const { next } = refresh(grant, me, ask(grant), policy, at, fresher)
  if (next?._tag !== "Active") throw new Error("not rotated")
  return next
}

const refusal = (reason: InvalidGrant["reason"]) => Result.fail(new InvalidGrant({ reason }))
/** A refusal that ends the grant says which one that was. */
const ending = (reason: InvalidGrant["reason"]) => Result.fail(new InvalidGrant({ reason, ended: "gggggggg" }))

describe("refreshing (RFC 6749 §6)", () => {
  test("grows the generation by one, from now on, under the key that seals now", () => {
    const { next } = refresh(active(), me, ask(active()), policy, after(5), fresher)
    expect(next).toMatchObject({
      _tag: "Active",
      // By which a code that comes back is still told from a stolen one.
      challenge: active().challenge,
      refresh: { generation: 2, issuedAt: after(5), expiresAt: after(5 + policy.refreshIdleTtl), key: "55667788" }
    })
    expect(active().challenge).not.toBeNull()
  })

  test("spends no token where the profile does not rotate, and keeps the line's laws", () => {
    const steady = { ...policy, profile: "fapi2" } as const
    const grant = active()
    const sealing = { ...fresh, key: grant.refresh.key }
    const same = refresh(grant, me, ask(grant), steady, after(5), sealing)
    expect(same.next).toBeUndefined()
    expect(Result.getOrThrow(same.outcome).refresh).toEqual({
      token: { kind: "refresh", grant: grantId, expiresAt: grant.endsAt, generation: 1 },
      key: grant.refresh.key
    })
    // Written again when its idle time is to be moved, or for a new key; and never with another generation.
    const later = after(policy.refreshIdleTtl / 30)
    const moved = refresh(grant, me, ask(grant), steady, later, sealing).next
    expect(moved).toMatchObject({ refresh: { generation: 1, expiresAt: after(policy.refreshIdleTtl * (31 / 30)) } })
    const turned = refresh(grant, me, ask(grant), steady, after(5), fresher).next
    expect(turned).toMatchObject({ refresh: { generation: 1, key: fresher.key } })
    // One that was spent before the client had the profile ends the grant still, and idleness ends the line.
    const before = { ...grant, refresh: { ...grant.refresh, generation: 4 } }
    expect(refresh(before, me, ask(before, 2), steady, after(5), sealing).outcome).toEqual(ending("refresh_reused"))
    const idle = { ...grant, refresh: { ...grant.refresh, expiresAt: after(3) } }
    const presented = { ...presenting(grant), expiresAt: grant.endsAt }
    const asked = { ...ask(grant), presented }
    expect(refresh(idle, me, asked, steady, after(5), sealing).outcome).toEqual(refusal("expired"))
  })

  test("hands out the successor and a new access token of the whole grant", () => {
    const { next, outcome } = refresh(active(), me, ask(active()), policy, after(5), fresher)
    if (next?._tag !== "Active") throw new Error("not active")
    expect(Result.getOrThrow(outcome)).toEqual({
      access: {
        kind: "access",
        grant: next.id,
        expiresAt: after(5 + policy.accessTtl),
        epoch: 0,
        serial: fresher.serial,
        scope: null,
        resources: null,
        binding: null,
        actors: null
      },
      refresh: {
        token: { kind: "refresh", grant: next.id, expiresAt: next.refresh.expiresAt, generation: 2 },
        key: "55667788"
      },
      scope: scopes("api", "profile")
    })
  })

  test("never goes on past the end of the grant", () => {
    const grant = active()
    const late = { ...grant, refresh: { ...grant.refresh, expiresAt: grant.endsAt } }
    const { next } = refresh(late, me, ask(late), policy, after(policy.refreshMaxTtl - 10), fresh)
    expect(next).toMatchObject({ refresh: { expiresAt: grant.endsAt } })
  })

  test("ends at the first moment of its expiry", () => {
    const grant = active()
    const at = (millis: number) => refresh(grant, me, ask(grant), policy, after(millis), fresh).outcome
    expect(Result.isSuccess(at(policy.refreshIdleTtl - 1))).toBe(true)
    expect(at(policy.refreshIdleTtl)).toEqual(refusal("expired"))
  })
})

describe("an honest retry", () => {
  test("gets the very same successor within the grace, and writes nothing", () => {
    const next = rotated(active())
    const again = refresh(next, me, ask(next, 1), policy, after(policy.refreshGrace - 1), fresh)
    expect(again.next).toBeUndefined()
    expect(Result.getOrThrow(again.outcome).refresh).toEqual({ token: presenting(next), key: next.refresh.key })
  })

  describe("is compared with the first refresh", () => {
    const key = ring.first.id
    const sealing = { serial: fresher.serial, key }
    const first = { network: "192.0.2.1", userAgent: "app/1" }
    const rotatedBy = (from: Partial<Sender>) => {
      const { next } = refresh(active(), me, ask(active()), policy, t0, sealing, { from: sentBy(from) })
      if (next?._tag !== "Active") throw new Error("not rotated")
      return next
    }
    const retriedBy = (grant: Active, from: Partial<Sender>, at = after(5), sealer = ring) =>
      refresh(grant, me, ask(grant, 1), policy, at, fresh, { from: sentBy(from, sealer) })

    test.each([
      [{}, { network: "same", userAgent: "same" }],
      [{ userAgent: "app/2" }, { network: "same", userAgent: "other" }],
      [{ userAgent: "" }, { network: "same", userAgent: "other" }],
      [{ network: "192.0.2.2" }, { network: "other", userAgent: "same" }],
      [
        { network: "192.0.2.2", userAgent: "x" },
        { network: "other", userAgent: "other" }
      ],
      [{ network: undefined }, { network: "unknown", userAgent: "same" }]
    ] as const)("a retry that differs in %j", (by, retry) => {
      const { next, outcome } = retriedBy(rotatedBy(first), { ...first, ...by })
      expect(Result.getOrThrow(outcome).retry).toEqual(retry)
      expect(next?._tag === "Active" ? next.retriedElsewhereAt : null).toBe(retry.network === "other" ? after(5) : null)
    })

    test("and a retry from another network is noted once, with the same successor, and kept when the line goes on", () => {
      const grant = rotatedBy(first)
      const elsewhere = { ...first, network: "192.0.2.2" }
      const { next, outcome } = retriedBy(grant, elsewhere)
      if (next?._tag !== "Active") throw new Error("not noted")
      expect(next).toEqual({ ...grant, retriedElsewhereAt: after(5) })
      expect(Result.getOrThrow(outcome).refresh).toEqual({ token: presenting(grant), key })
      const again = retriedBy(next, elsewhere, after(6))
      expect(again.next).toBeUndefined()
      expect(Result.getOrThrow(again.outcome).retry?.network).toBe("other")

      const further = refresh(next, me, ask(next), policy, after(7), sealing, { from: sentBy(first) }).next
      if (further?._tag !== "Active") throw new Error("not rotated")
      expect(further.retriedElsewhereAt).toBe(after(5))
      const later = refresh(further, me, ask(further, 2), policy, after(8), fresh, { from: sentBy(elsewhere) })
      expect(later.next).toMatchObject({ retriedElsewhereAt: after(8) })
    })

    test("and noted at the very moment in which the line went on, once too", () => {
      const elsewhere = { ...first, network: "192.0.2.2" }
      const { next } = retriedBy(rotatedBy(first), elsewhere, t0)
      if (next?._tag !== "Active") throw new Error("not noted")
      expect(next.retriedElsewhereAt).toBe(t0)
      expect(retriedBy(next, elsewhere, t0).next).toBeUndefined()
    })

    test("unless no caller was noted, or the key is gone that marked them", () => {
      const unknown = { network: "unknown", userAgent: "unknown" } as const
      const older = rotatedBy(first)
      const unnoted: Active = { ...older, refresh: { ...older.refresh, rotatedBy: null } }
      expect(Result.getOrThrow(retriedBy(unnoted, first).outcome).retry).toEqual(unknown)
      const turned = makeSealer([sealKey(new Uint8Array(32).fill(9))])
      expect(Result.getOrThrow(retriedBy(older, first, after(5), turned).outcome).retry).toEqual(unknown)
    })

    test("by marks that hold no address, differ from grant to grant, and stay when the ring turns", () => {
      const marks = rotatedBy(first).refresh.rotatedBy
      const other = GrantId.make("h".repeat(22))
      const elsewhere = markSender(ring, home, other, () => first)(key)
      const abroad = markSender(ring, { ...home, id: "abroad" }, grantId, () => first)(key)
      const same = markSender(ring, home, grantId, () => ({ network: first.userAgent, userAgent: first.network }))(key)
      const found = [marks, elsewhere, abroad, same].flatMap((one) => [one?.network, one?.userAgent])
      expect(new Set(found).size).toBe(found.length)
      for (const mark of found) expect(mark).toMatch(/^[A-Za-z0-9_-]{11}$/)
      const turned = makeSealer([sealKey(new Uint8Array(32).fill(9)), sealKey(new Uint8Array(32).fill(1))])
      expect(Result.getOrThrow(retriedBy(rotatedBy(first), first, after(5), turned).outcome).retry).toEqual({
        network: "same",
        userAgent: "same"
      })
    })

    test("and what was no retry says nothing of one", () => {
      const { outcome } = refresh(active(), me, ask(active()), policy, t0, sealing, { from: sentBy(first) })
      expect("retry" in Result.getOrThrow(outcome)).toBe(false)
    })
  })

  test("is theft from the first moment after the grace: the grant ends", () => {
    const next = rotated(active())
    const late = refresh(next, me, ask(next, 1), policy, after(policy.refreshGrace), fresh)
    expect(late.next).toMatchObject({ _tag: "Revoked", why: "refresh_reused", revokedAt: after(policy.refreshGrace) })
    expect(late.outcome).toEqual(ending("refresh_reused"))
  })

  test("is theft at once where the grace is 0", () => {
    const next = rotated(active())
    const strict = refresh(next, me, ask(next, 1), { ...policy, refreshGrace: 0 }, t0, fresh)
    expect(strict.next?._tag).toBe("Revoked")
  })

  test("is theft where the grace is 0 even for the first caller, or one whose clock is behind", () => {
    const next = rotated(active(), after(1000))
    const early = refresh(next, me, ask(next, 1), { ...policy, refreshGrace: 0 }, t0, fresh)
    expect(early.next?._tag).toBe("Revoked")
    expect(Result.isSuccess(refresh(next, me, ask(next, 1), policy, t0, fresh).outcome)).toBe(true)
  })

  test("is theft when the successor has been used already", () => {
    const third = rotated(rotated(active()))
    expect(refresh(third, me, ask(third, 1), policy, t0, fresh).outcome).toEqual(ending("refresh_reused"))
  })
})

describe("a line that is bound to a key (RFC 9449 §5)", () => {
  const mine = { thumbprint: digestOf("mine") }
  const other = { thumbprint: digestOf("another") }
  const steady = { ...policy, profile: "fapi2" } as const
  const boundTo = (binding: Binding): Active => {
    const grant = active()
    return { ...grant, refresh: { ...grant.refresh, binding } }
  }

  test.each([null, other])("ends nothing for who proves %j, spent or not", (binding) => {
    const grant = boundTo(mine)
    for (const generation of [1, 0]) {
      const { next, outcome } = refresh(grant, me, ask(grant, generation), policy, after(5), fresh, { binding })
      expect([next, outcome]).toEqual([undefined, refusal("binding_differs")])
    }
  })

  test("is one from the first proof of a public client on, and stays so", () => {
    const { next } = refresh(active(), me, ask(active()), policy, after(5), fresher, { binding: mine })
    if (next?._tag !== "Active") throw new Error("not rotated")
    expect(next.refresh.binding).toEqual(mine)
    expect(refresh(next, me, ask(next), policy, after(6), fresher, { binding: mine }).next).toMatchObject({
      refresh: { generation: 3, binding: mine }
    })
  })

  test("is written once where the profile does not rotate", () => {
    const grant = active()
    const sealing = { ...fresh, key: grant.refresh.key }
    const { next } = refresh(grant, me, ask(grant), steady, after(5), sealing, { binding: mine })
    if (next?._tag !== "Active") throw new Error("not written")
    expect(next.refresh).toEqual({
      ...grant.refresh,
      issuedAt: after(5),
      expiresAt: next.refresh.expiresAt,
      binding: mine
    })
    expect(refresh(next, me, ask(next), steady, after(6), sealing, { binding: mine }).next).toBeUndefined()
  })
})

describe("what a refresh is refused", () => {
  test("a grant that is not there", () => {
    const asked = ask(active())
    expect(refresh(undefined, me, asked, policy, t0, fresh)).toEqual({ next: undefined, outcome: refusal("unknown") })
  })

  test("another client's token, and the owner keeps everything, even if the token is spent", () => {
    const next = rotated(active())
    for (const generation of [1, 2]) {
      const { next: kept, outcome } = refresh(
        next,
        stranger,
        ask(next, generation),
        policy,
        after(policy.refreshGrace),
        fresh
      )
      expect(kept).toBeUndefined()
      expect(outcome).toEqual(refusal("other_client"))
    }
  })

  test("a token of a generation that the grant has not come to", () => {
    const grant = active()
    const ahead = refresh(grant, me, ask(grant, 2), policy, t0, fresh)
    expect(ahead).toEqual({ next: undefined, outcome: refusal("ahead_of_grant") })
  })

  test("a grant that ended", () => {
    const grant = active()
    const over = revoked(grant, "by_user", policy, t0)
    expect(refresh(over, me, ask(grant), policy, t0, fresh)).toEqual({ next: undefined, outcome: refusal("revoked") })
  })

  test("a grant that has no refresh tokens", () => {
    const grant = active()
    for (const other of [pending(), standing(), key()]) {
      expect(refresh(other, me, ask(grant), policy, t0, fresh)).toEqual({
        next: undefined,
        outcome: refusal("wrong_kind")
      })
    }
  })
})

describe("a part of the grant", () => {
  test("narrows the access token's scope and leaves the grant as wide as it was", () => {
    const grant = active()
    const { next, outcome } = refresh(grant, me, { ...ask(grant), scope: "api" }, policy, t0, fresh)
    expect(Result.getOrThrow(outcome)).toMatchObject({ scope: ["api"], access: { scope: ["api"] } })
    expect(next?.scope).toEqual(grant.scope)
  })

  test("has the scopes that its resource takes, and is refused where that takes none", () => {
    const grant = active()
    const of = (taken: Scopes) => refresh(grant, me, ask(grant), policy, t0, fresh, { taken })
    expect(Result.getOrThrow(of(scopes("profile")).outcome)).toMatchObject({ scope: ["profile"] })
    expect(of(scopes("other"))).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidTarget({ reason: "takes_none" }))
    })
  })

  test("refuses more than was granted, and the token stays good", () => {
    const grant = active({ scope: scopes("api") })
    expect(refresh(grant, me, { ...ask(grant), scope: "api profile" }, policy, t0, fresh)).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidScope({ reason: "wider_than_granted" }))
    })
  })

  test("narrows the resource, and refuses a wider one", () => {
    const rest = Resource.make("https://auth.example.com/rest")
    const grant = active({ resources: [rest] })
    const below = Resource.make("https://auth.example.com/rest/companies")
    const narrowed = refresh(grant, me, { ...ask(grant), resources: [below] }, policy, t0, fresh)
    expect(Result.getOrThrow(narrowed.outcome).access.resources).toEqual([below])
    const root = Resource.make("https://auth.example.com")
    expect(refresh(grant, me, { ...ask(grant), resources: [root] }, policy, t0, fresh)).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))
    })
  })
})
