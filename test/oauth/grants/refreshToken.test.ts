import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import type { Active } from "../../../core/grant/Grant.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { InvalidGrant, InvalidScope, InvalidTarget } from "../../../core/rules/Refusal.ts"
import { Resource } from "../../../core/rules/Resource.ts"
import {
  active,
  after,
  fresh,
  fresher,
  key,
  me,
  pending,
  policy,
  presenting,
  refresh,
  scopes,
  standing,
  stranger,
  t0
} from "../../grant/given.ts"

const ask = (grant: Active, generation?: number) => ({
  presented: presenting(grant, generation),
  scope: undefined,
  resource: null
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
      refresh: { generation: 2, issuedAt: after(5), expiresAt: after(5 + policy.refreshIdleTtl), key: "55667788" }
    })
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
        resource: null,
        binding: null
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

  test("is theft where the grace is 0 even for whoever came first, or whose clock is behind", () => {
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

describe("what a refresh is refused", () => {
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

  test("refuses more than was granted, and the token stays good", () => {
    const grant = active({ scope: scopes("api") })
    expect(refresh(grant, me, { ...ask(grant), scope: "api profile" }, policy, t0, fresh)).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidScope({ reason: "wider_than_granted" }))
    })
  })

  test("narrows the resource, and refuses a wider one", () => {
    const rest = Resource.make("https://auth.example.com/rest")
    const grant = active({ resource: rest })
    const below = Resource.make("https://auth.example.com/rest/companies")
    const narrowed = refresh(grant, me, { ...ask(grant), resource: below }, policy, t0, fresh)
    expect(Result.getOrThrow(narrowed.outcome).access.resource).toBe(below)
    const root = Resource.make("https://auth.example.com")
    expect(refresh(grant, me, { ...ask(grant), resource: root }, policy, t0, fresh)).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))
    })
  })
})
