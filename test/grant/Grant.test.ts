import { describe, expect, test } from "bun:test"
import { Redacted, Result, Schema } from "effect"
import { makeKey } from "../../core/grant/apiKey.ts"
import { begin } from "../../core/grant/begin.ts"
import {
  type Active,
  Grant,
  isConnected,
  keyGrants,
  ownerOf,
  recordExpiry,
  type Standing,
  userGrants
} from "../../core/grant/Grant.ts"
import { accessToken } from "../../core/grant/issue.ts"
import { revoked } from "../../core/grant/revoke.ts"
import { PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { Resource, type Resources } from "../../core/rules/Resource.ts"
import type { Scopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { active, after, approved, fresh, grantId, me, pending, policy, scopes, sentBy, standing, t0 } from "./given.ts"

const made = makeKey({ name: "nightly", expiresAt: after(1) }, grantId, new Uint8Array(32).fill(7), policy, t0)
const key = made.grant
const busy = { epoch: 3, revoked: [{ serial: "0123456789abcdef", expiresAt: after(1) }] }

const grants: ReadonlyArray<readonly [string, Grant]> = [
  ["a pending one", pending({ resources: [Resource.make("https://auth.example.com/rest")] })],
  ["a pending one without PKCE", pending({ challenge: null })],
  ["an active one", { ...active(), access: busy }],
  ["a client's workspace grant", standing({ access: busy })],
  ["a key", key],
  ["a key for good", { ...key, expiresAt: null }],
  ["a revoked one", revoked(active(), "code_replayed", policy, after(2))],
  ["a revoked key", revoked(key, "by_owner", policy, after(2))],
  ["a revoked workspace grant", revoked(standing(), "by_owner", policy, after(2))]
]

const read = Schema.decodeUnknownResult(Grant)
// JSON.parse gives back what was written.
const copy = (grant: Grant): Record<string, unknown> => JSON.parse(JSON.stringify(grant)) as Record<string, unknown>

/** Every copy of a value in which one member, however deep, has been changed. */
const variants = (value: unknown, change: (holder: Record<string, unknown>, name: string) => void): Array<unknown> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const shell = (): Record<string, unknown> => structuredClone({ ...value })
    const changed = shell()
    change(changed, name)
    const put = (deep: unknown): unknown => {
      const outer = shell()
      outer[name] = deep
      return Array.isArray(value) ? Object.values(outer) : outer
    }
    return [
      Array.isArray(value) ? Object.values(changed) : changed,
      ...variants(inner, change).map((deep) => put(deep))
    ]
  })
}

describe("a grant as it is stored", () => {
  for (const [what, grant] of grants) {
    test(`${what}: comes back as it went`, () => {
      expect(read(copy(grant))).toEqual(Result.succeed(grant))
    })

    test(`${what}: is refused with any member of another kind`, () => {
      const odd = variants(copy(grant), (holder, name) => {
        holder[name] = false
      })
      expect(odd.length).toBeGreaterThan(7)
      for (const one of odd) expect([one, Result.isFailure(read(one))]).toEqual([one, true])
    })

    test(`${what}: is refused without any one of its members`, () => {
      // What a device asked for leads back to no address.
      for (const name of Object.keys(grant).filter((name) => name !== "redirectUri")) {
        const { [name]: _, ...rest } = copy(grant)
        expect([name, Result.isFailure(read(rest))]).toEqual([name, true])
      }
    })
  }

  test("keeps serials of sixteen hexadecimal digits, and counts that fit a token", () => {
    const withAccess = (access: unknown) => Result.isSuccess(read({ ...copy(standing()), access }))
    const withSerial = (serial: string) => withAccess({ epoch: 0, revoked: [{ serial, expiresAt: t0 }] })
    expect(withSerial("0123456789abcdef")).toBe(true)
    for (const bad of ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "g123456789abcdef"]) {
      expect(withSerial(bad)).toBe(false)
    }
    const withEpoch = (epoch: number) => withAccess({ epoch, revoked: [] })
    expect([withEpoch(0), withEpoch(0xffff_ffff)]).toEqual([true, true])
    for (const bad of [-1, 0x1_0000_0000, 0.5]) expect(withEpoch(bad)).toBe(false)
  })

  test("knows each way to end, and no other", () => {
    const ended = revoked(active(), "by_user", policy, t0)
    for (const why of ["code_replayed", "refresh_reused", "by_client", "by_user", "by_owner"]) {
      expect(Result.isSuccess(read({ ...copy(ended), why }))).toBe(true)
    }
    for (const why of ["", "by_magic"]) expect(Result.isFailure(read({ ...copy(ended), why }))).toBe(true)
  })

  test("holds nothing that opens a door: of a key only the digest", () => {
    expect(JSON.stringify(key)).not.toContain(Redacted.value(made.text).slice(11))
  })
})

describe("how long a grant is kept", () => {
  const day = 24 * 60 * 60 * 1000

  test("is a day longer than anything that it issued can live", () => {
    const accessTtl = 3 * day
    const grant = active()
    expect(recordExpiry(pending(), accessTtl)).toBe(later(pending().codeExpiresAt, day))
    expect(recordExpiry(grant, accessTtl)).toBe(later(grant.refresh.expiresAt, accessTtl + day))
    const ended = revoked(grant, "by_user", { ...policy, accessTtl }, t0)
    expect(recordExpiry(ended, accessTtl)).toBe(later(grant.refresh.expiresAt, accessTtl + day))
  })

  test("is as long as the session that its ID token named may last, where that is longer", () => {
    const authentication = { sid: digestOf("a session") }
    const grant = { ...active(), authentication }
    const { createdAt, refresh } = grant
    const idleFor = (idle: number): Active => ({
      ...grant,
      refresh: { ...refresh, expiresAt: later(createdAt, idle) }
    })
    const minute = 60 * 1000
    for (const one of [idleFor(minute), revoked(idleFor(minute), "by_client", policy, t0)]) {
      expect(recordExpiry(one, minute)).toBe(later(createdAt, 15 * day))
    }
    expect(recordExpiry(idleFor(14 * day), minute)).toBe(later(createdAt, 15 * day + minute))
    // No client knows its person by a code that it never redeemed.
    const waiting = { ...pending(), authentication }
    expect(recordExpiry(waiting, minute)).toBe(later(waiting.codeExpiresAt, day))
    expect(recordExpiry({ ...idleFor(minute), authentication: {} }, minute)).toBe(later(createdAt, 2 * minute + day))
  })
})

describe("whose list a grant stands in", () => {
  const alice = userGrants(UserId.make("alice"))

  test("the person's, from the code to the end", () => {
    expect(alice).toBe("user:alice")
    for (const grant of [pending(), active(), revoked(active(), "by_user", policy, t0)]) {
      expect(ownerOf(grant)).toBe(alice)
    }
  })

  test("the client's own, where it speaks for the workspace", () => {
    const own = `client:${me.client.id}`
    expect(ownerOf(standing())).toBe(own)
    expect(ownerOf(revoked(standing(), "by_owner", policy, t0))).toBe(own)
  })

  test("the workspace's keys", () => {
    expect(keyGrants).toBe("keys")
    expect(ownerOf(key)).toBe(keyGrants)
    expect(ownerOf(revoked(key, "by_owner", policy, t0))).toBe(keyGrants)
  })
})

describe("an application is connected with a person", () => {
  const person = { _tag: "User", id: UserId.make("alice") } as const
  const rows: ReadonlyArray<readonly [string, Grant, until: Instant | null | undefined]> = [
    ["by a code until that ends", pending(), after(policy.codeTtl)],
    [
      "by a line of tokens until the last access token of it",
      active(),
      later(active().refresh.expiresAt, policy.accessTtl)
    ],
    ["by what an issuer asserted, for good", standing({ subject: person }), null],
    [
      "by what expires, until its last access token",
      standing({ subject: person, expiresAt: after(9) }),
      after(9 + policy.accessTtl)
    ],
    ["never by its own access", standing(), undefined],
    ["never by a key", key, undefined],
    ["never by what ended", revoked(active(), "by_user", policy, t0), undefined]
  ]
  for (const [what, grant, until] of rows) {
    test(what, () => {
      const at = (now: number) => isConnected(grant, policy, Instant.make(now))
      expect([at(t0), at((until ?? after(9)) - 1)]).toEqual(Array(2).fill(until !== undefined))
      expect([at(until ?? after(1e12)), at(after(1e13))]).toEqual(Array(2).fill(until === null))
    })
  }
})

describe("an approved request becomes a grant", () => {
  test("with a code that lives as long as policy and profile both let it, or as a device's answer", () => {
    expect(pending().codeExpiresAt).toBe(after(policy.codeTtl))
    expect(pending({ codeTtl: 1000 }).codeExpiresAt).toBe(after(1000))
    expect(pending({ codeTtl: null }).codeExpiresAt).toBe(after(policy.codeTtl))
    expect(pending({ codeTtl: policy.codeTtl + 1 }).codeExpiresAt).toBe(after(policy.codeTtl))
    expect(pending({ codeTtl: 1000, fetchedBy: after(7) }).codeExpiresAt).toBe(after(7))
  })

  test("that keeps what the request said, and nothing that it did not say", () => {
    const said = {
      place: PlaceId.make("emea"),
      consent: { at: t0, shown: digestOf("shown") },
      binding: { thumbprint: "A".repeat(43) },
      authentication: { at: t0 }
    }
    const plain = pending()
    for (const name of Object.keys(said)) expect([name, name in plain]).toEqual([name, false])
    expect(pending(said)).toStrictEqual({ ...plain, ...said })
    const { redirectUri, ...device } = approved()
    const fetched = begin(device, grantId, policy, t0)
    expect([redirectUri !== undefined, "redirectUri" in fetched, "redirectUri" in plain]).toEqual([true, false, true])
  })
})

test("a token names its scopes and resources only where they are not all of its grant's", () => {
  const one = [Resource.make("https://api.example.com")] as const
  const all = [...one, Resource.make("https://b.example.com")] as const
  const issuing = { by: me, binding: null, fresh, markSender: sentBy({}), now: t0, policy, taken: null }
  const told = (of: Active | Standing, asked: Scopes, places: Resources | null) => {
    const { resources, scope } = accessToken(of, asked, places, issuing)
    return { resources, scope }
  }
  const grant = active({ resources: all })
  expect(told(grant, scopes("api", "profile"), [...all])).toEqual({ resources: null, scope: null })
  expect(told(grant, grant.scope, grant.resources)).toEqual({ resources: null, scope: null })
  expect(told(grant, scopes("api"), one)).toEqual({ resources: one, scope: scopes("api") })
  // A client's own grant may grow, and what was issued before does not grow with it.
  expect(told(standing(), scopes("api"), null)).toEqual({ resources: null, scope: scopes("api") })
})
