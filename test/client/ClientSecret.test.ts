import { describe, expect, test } from "bun:test"
import { Redacted, Result } from "effect"
import type { Client } from "../../core/client/Client.ts"
import {
  isSecret,
  liveSecrets,
  registerSecret,
  type ShownSecret,
  secretDigest,
  secretMark,
  whichSecret,
  withNewSecret,
  withoutSecret
} from "../../core/client/ClientSecret.ts"
import { type Instant, later } from "../../core/rules/Instant.ts"
import { type Credential, credential, digestOf, hashOf } from "../../core/rules/Secret.ts"
import { client, t0 } from "../grant/given.ts"

const drawn = (byte: number): Credential => credential("tsr_cs_", new Uint8Array(30).fill(byte))
const [one, two, three] = [drawn(1), drawn(2), drawn(3)]

const holder = client({ credential: { _tag: "Secret", method: "client_secret_basic", digest: one.digest } })
const day = 86_400_000

const shows = (of: Client, which: Credential, now: Instant): ShownSecret =>
  whichSecret(hashOf(Redacted.value(which.text)), isSecret(of.credential) ? of.credential : undefined, now)

const renewed = (of: Client, by: Credential, keepFor: number, now: Instant = t0): Client =>
  Result.getOrThrow(withNewSecret(of, by, keepFor, now))

describe("two live secrets", () => {
  test("both work until the first one's end, to the millisecond, and then the new one alone", () => {
    const both = renewed(holder, two, 7 * day)
    const end = later(t0, 7 * day)
    const at = (now: Instant) => [one, two, three].map((which) => shows(both, which, now))
    expect(at(t0)).toEqual(["older", "current", "wrong"])
    expect(at(later(end, -1))).toEqual(["older", "current", "wrong"])
    expect(at(end)).toEqual(["wrong", "current", "wrong"])
    expect(liveSecrets(both, later(end, -1))).toEqual([
      { mark: secretMark(two.digest), until: null },
      { mark: secretMark(one.digest), until: end }
    ])
    expect(liveSecrets(both, end)).toEqual([{ mark: secretMark(two.digest), until: null }])
  })

  test("are compared in the same steps, whether there are none, one or two, and whichever is shown", () => {
    const stepsOf = (of: Client | undefined, which: Credential): number => {
      let steps = 0
      const hash = new Proxy(hashOf(Redacted.value(which.text)), {
        get: (bytes, name) => {
          steps++
          return Reflect.get(bytes, name, bytes)
        }
      })
      whichSecret(hash, of !== undefined && isSecret(of.credential) ? of.credential : undefined, t0)
      return steps
    }
    const both = renewed(holder, two, day)
    const steps = [undefined, holder, both].flatMap((of) => [one, two, three].map((which) => stepsOf(of, which)))
    expect(steps[0]).toBeGreaterThan(64)
    expect(new Set(steps).size).toBe(1)
  })

  test("one that is kept for no time ends with the other's beginning", () => {
    const next = renewed(holder, two, 0)
    expect([shows(next, one, t0), shows(next, two, t0)]).toEqual(["wrong", "current"])
    expect(next.credential).not.toHaveProperty("older")
  })

  test("a third has to wait for the end of one", () => {
    const both = renewed(holder, two, day)
    const refusal = (now: Instant) => Result.map(withNewSecret(both, three, day, now), () => "made")
    expect(refusal(t0)).toMatchObject({ _tag: "Failure", failure: { reason: "two" } })
    expect(refusal(later(t0, day))).toEqual(Result.succeed("made"))
    const dropped = withoutSecret(both, "older", t0)
    expect([shows(dropped, one, t0), shows(dropped, two, t0)]).toEqual(["wrong", "current"])
    const undone = withoutSecret(both, "newer", t0)
    const muchLater = later(t0, 100 * day)
    expect([shows(undone, one, muchLater), shows(undone, two, t0)]).toEqual(["current", "wrong"])
    expect(undone).toEqual(holder)
    expect(Result.isSuccess(withNewSecret(dropped, three, day, t0))).toBe(true)
  })

  test("nothing is dropped where one works alone", () => {
    const both = renewed(holder, two, day)
    const open = client({ credential: { _tag: "Public" } })
    for (const which of ["older", "newer"] as const) {
      expect(withoutSecret(holder, which, t0)).toBe(holder)
      expect(withoutSecret(both, which, later(t0, day))).toBe(both)
      expect(withoutSecret(open, which, t0)).toBe(open)
    }
  })

  test.each([-1, Number.NaN, 90 * day + 1, Number.POSITIVE_INFINITY])("none is kept for %p", (keepFor) => {
    expect(withNewSecret(holder, two, keepFor, t0)).toMatchObject({ failure: { reason: "kept_too_long" } })
  })

  test("one is kept for as long as there is", () => {
    expect(liveSecrets(renewed(holder, two, 90 * day), t0)).toHaveLength(2)
  })

  test("who has none gets none", () => {
    for (const credential of [{ _tag: "Public" }, { _tag: "Keys", method: "private_key_jwt" }]) {
      const other = client({ credential })
      expect(withNewSecret(other, two, day, t0)).toMatchObject({ failure: { reason: "no_secret" } })
      expect(liveSecrets(other, t0)).toEqual([])
      expect(shows(other, one, t0)).toBe("wrong")
    }
  })

  test("a client that is registered anew keeps both", () => {
    const { credential: kept } = renewed(holder, two, day)
    const stored = isSecret(kept) ? kept : undefined
    expect(registerSecret("client_secret_post", three, stored)).toEqual({
      _tag: "Secret",
      method: "client_secret_post",
      digest: two.digest,
      older: { digest: one.digest, until: later(t0, day) }
    })
  })

  test("the empty text is no client's secret, whatever is compared", () => {
    for (const of of [holder, renewed(holder, two, day), client({ credential: { _tag: "Public" } })]) {
      const stored = isSecret(of.credential) ? of.credential : undefined
      expect(whichSecret(hashOf(""), stored, t0)).toBe("wrong")
    }
    expect(secretMark(digestOf(""))).toHaveLength(8)
  })
})

const kept = digestOf("a secret")

test.each([
  { credential: { _tag: "Secret", digest: kept }, known: kept },
  { credential: { _tag: "Secret" }, known: undefined },
  { credential: { _tag: "Secret", digest: 7 }, known: undefined },
  // Of another row of client authentications, whatever it calls what it keeps.
  { credential: { _tag: "Signed", digest: kept }, known: undefined },
  { credential: { _tag: "Public" }, known: undefined }
])("the digest of the secret in $credential", ({ credential, known }) => {
  expect(secretDigest(client({ credential }))).toBe(known)
})
