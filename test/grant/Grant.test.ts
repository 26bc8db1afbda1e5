import { describe, expect, test } from "bun:test"
import { Redacted, Result, Schema } from "effect"
import { makeKey } from "../../core/grant/apiKey.ts"
import { Grant, keyGrants, ownerOf, recordExpiry, userGrants } from "../../core/grant/Grant.ts"
import { revoked } from "../../core/grant/revoke.ts"
import { UserId } from "../../core/rules/Id.ts"
import { later } from "../../core/rules/Instant.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { active, after, grantId, me, pending, policy, standing, t0 } from "./given.ts"

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
