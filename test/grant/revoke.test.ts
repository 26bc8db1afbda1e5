import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { withdraw } from "../../core/grant/begin.ts"
import {
  type Active,
  endOf,
  type Grant,
  type Revoked,
  recordExpiry,
  type Standing,
  sidIn
} from "../../core/grant/Grant.ts"
import { holderOf, isDead, revoked, revokedSerialsKept, revokeGrant, revokeToken } from "../../core/grant/revoke.ts"
import { PlaceId, UserId } from "../../core/rules/Id.ts"
import type { Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { AccessToken } from "../../core/token/Token.ts"
import { active, after, approved, grantId, me, pending, policy, presenting, standing, stranger, t0 } from "./given.ts"

const token = (index: number, over: Partial<AccessToken> = {}): AccessToken => ({
  kind: "access",
  grant: active().id,
  expiresAt: after(policy.accessTtl),
  epoch: 0,
  serial: index.toString(16).padStart(16, "0"),
  scope: null,
  resources: null,
  binding: null,
  actors: null,
  ...over
})

const revokeOne = (grant: Active, one: AccessToken, now: Instant = t0): Active => {
  const { next } = revokeToken(grant, me.client.id, one, policy, now)
  if (next?._tag !== "Active") throw new Error("nothing was revoked")
  return next
}

describe("revoking a token (RFC 7009)", () => {
  test("takes one access token and leaves its siblings", () => {
    const grant = revokeOne(active(), token(1))
    expect(revokeToken(active(), me.client.id, token(1), policy, t0).outcome).toEqual(Result.succeed("revoked"))
    expect(isDead(grant.access, token(1))).toBe(true)
    expect(isDead(grant.access, token(2))).toBe(false)
  })

  test("takes the whole grant with its refresh token, of whatever generation", () => {
    for (const generation of [0, 1]) {
      const { next, outcome } = revokeToken(active(), me.client.id, presenting(active(), generation), policy, after(3))
      expect(next).toMatchObject({ _tag: "Revoked", why: "by_client", revokedAt: after(3) })
      expect(outcome).toEqual(Result.succeed("revoked"))
    }
  })

  test("leaves another client's token alone, and says nothing", () => {
    for (const one of [token(1), presenting(active())]) {
      expect(revokeToken(active(), stranger.client.id, one, policy, t0)).toEqual({
        next: undefined,
        outcome: Result.succeed("left_alone")
      })
    }
  })

  test("writes nothing for a token that is dead, or a grant that is not live", () => {
    const leftAlone = { next: undefined, outcome: Result.succeed("left_alone" as const) }
    expect(revokeToken(revokeOne(active(), token(1)), me.client.id, token(1), policy, t0)).toEqual(leftAlone)
    expect(revokeToken(pending(), me.client.id, token(1), policy, t0)).toEqual(leftAlone)
    expect(revokeToken(revoked(active(), "by_user", policy, t0), me.client.id, token(1), policy, t0)).toEqual(leftAlone)
  })

  test("works for a machine's token as well", () => {
    const { next } = revokeToken(standing(), me.client.id, token(1), policy, t0)
    expect(next).toMatchObject({ _tag: "Standing", access: { revoked: [{ serial: token(1).serial }] } })
  })

  test("forgets a revoked token once it has expired by itself, by every clock", () => {
    const clocksDiffer = 5 * 60_000
    const early = token(1, { expiresAt: after(10) })
    const grant = revokeOne(revokeOne(active(), early), token(2), after(10 + clocksDiffer))
    expect(grant.access.revoked.map((one) => one.serial)).toEqual([token(2).serial])
    const kept = revokeOne(revokeOne(active(), early), token(2), after(9 + clocksDiffer))
    expect(kept.access.revoked).toHaveLength(2)
  })

  test("ends all access tokens of the grant rather than remember ever more of them", () => {
    let grant = active()
    for (let index = 0; index < revokedSerialsKept; index++) grant = revokeOne(grant, token(index))
    expect(grant.access).toMatchObject({ epoch: 0 })
    expect(grant.access.revoked).toHaveLength(revokedSerialsKept)
    grant = revokeOne(grant, token(9999))
    expect(grant.access).toEqual({ epoch: 1, revoked: [] })
    expect(isDead(grant.access, token(0))).toBe(true)
    expect(isDead(grant.access, token(8888))).toBe(true)
    expect(isDead(grant.access, token(0, { epoch: 1 }))).toBe(false)
  })
})

describe("revoking a grant", () => {
  test("ends it once: the first reason stays", () => {
    const { next, outcome } = revokeGrant(active(), "by_user", policy, after(4))
    expect(next).toMatchObject({ _tag: "Revoked", why: "by_user", revokedAt: after(4), client: me.client.id })
    expect(outcome).toEqual(Result.succeed("revoked"))
    const over = revoked(active(), "code_replayed", policy, t0)
    expect(revokeGrant(over, "by_owner", policy, after(4))).toEqual({
      next: undefined,
      outcome: Result.succeed("was_revoked")
    })
    expect(revoked(over, "by_owner", policy, after(4))).toBe(over)
  })
})

describe("the record of a grant", () => {
  const day = 24 * 60 * 60 * 1000

  test("stays a day longer than anything that the grant issued", () => {
    expect(recordExpiry(pending(), policy.accessTtl)).toBe(after(policy.codeTtl + day))
    expect(recordExpiry(active(), policy.accessTtl)).toBe(after(policy.refreshIdleTtl + policy.accessTtl + day))
    expect(recordExpiry(revoked(active(), "by_user", policy, t0), policy.accessTtl)).toBe(
      after(policy.refreshIdleTtl + policy.accessTtl + day)
    )
    expect(recordExpiry(revoked(pending(), "by_user", policy, t0), policy.accessTtl)).toBe(after(policy.codeTtl + day))
  })

  test("of a client's workspace grant stays for good, alive or not", () => {
    expect(recordExpiry(standing(), policy.accessTtl)).toBeNull()
    expect(recordExpiry(revoked(standing(), "by_owner", policy, t0), policy.accessTtl)).toBeNull()
  })
})

describe("taking an approval back", () => {
  const takeBack = (grant: Parameters<typeof withdraw>[0]) => withdraw(grant, approved(), grantId, policy, after(3))

  test("ends a grant whose code no client has used", () => {
    expect(takeBack(pending())).toEqual({
      next: revoked(pending(), "by_user", policy, after(3)),
      outcome: Result.succeed("withdrawn")
    })
  })

  test("leaves alone what has ended, and what a client has tokens of", () => {
    const over = revoked(active(), "code_replayed", policy, t0)
    expect(takeBack(over)).toEqual({ next: undefined, outcome: Result.succeed("was_over") })
    expect(takeBack(active())).toEqual({ next: undefined, outcome: Result.succeed("used") })
  })

  test("keeps a grant that is only about to begin from beginning", () => {
    const { next, outcome } = takeBack(undefined)
    expect(next).toMatchObject({ _tag: "Revoked", id: grantId, client: me.client.id, why: "by_user" })
    expect(outcome).toEqual(Result.succeed("was_over"))
  })
})

describe("what is kept of a grant that ended", () => {
  const sid = digestOf("a session")
  const place = PlaceId.make("emea")
  const signed = { authentication: { at: t0, sid } }
  const standingOf = (subject: Standing["subject"]) => standing({ subject, access: { epoch: 3, revoked: [] } })
  const person = { _tag: "User", id: UserId.make("alice") } as const
  const rows: ReadonlyArray<readonly [string, Grant, Partial<Revoked>]> = [
    ["a code", pending(), { endsAt: after(policy.codeTtl) }],
    ["a code of a session", pending(signed), { endsAt: after(policy.codeTtl), sid }],
    ["a line of tokens, at a place", active({ place }), { place, endsAt: endOf(active(), policy.accessTtl) }],
    ["a line of a session", active(signed), { sid, endsAt: endOf(active(), policy.accessTtl) }],
    ["a client's own", standingOf({ _tag: "Workspace" }), { endsAt: null }],
    ["an asserted person's", standingOf(person), { endsAt: null, epoch: 3 }],
    [
      "one that expires",
      { ...standingOf(person), expiresAt: after(9) },
      { endsAt: after(9 + policy.accessTtl), epoch: 3 }
    ],
    ["a client's own that expires", standing({ expiresAt: after(9) }), { endsAt: null }]
  ]
  for (const [what, grant, more] of rows) {
    test(`is whose it was, when and why it ended, and as long as it may matter: ${what}`, () => {
      const { createdAt, id, resources, scope, subject } = grant
      const ended = revoked(grant, "by_user", policy, after(5))
      expect<unknown>(ended).toStrictEqual({
        _tag: "Revoked",
        id,
        client: me.client.id,
        subject,
        scope,
        resources,
        createdAt,
        revokedAt: after(5),
        why: "by_user",
        ...more
      })
      // The first reason stays.
      expect(revoked(ended, "by_client", policy, after(6))).toBe(ended)
      expect(sidIn(ended)).toBe(more.sid)
      expect(sidIn(grant)).toBe(more.sid)
    })
  }
})

test("a token is held by who it was issued to, or by who exchanged last, and dies with what it came of", () => {
  const exchanged = token(9, {
    actors: [
      { client: stranger.client.id, showed: token(1).serial },
      { client: me.client.id, showed: token(2).serial }
    ]
  })
  expect(holderOf(active(), token(1))).toBe(me.client.id)
  expect(holderOf(active(), presenting(active()))).toBe(me.client.id)
  expect(holderOf(active(), exchanged)).toBe(stranger.client.id)
  for (const [at, dies] of [
    [1, true],
    [2, true],
    [3, false],
    [9, true]
  ] as const) {
    expect([at, isDead(revokeOne(active(), token(at)).access, exchanged)]).toEqual([at, dies])
  }
})
