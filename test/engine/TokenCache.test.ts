import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { hexOf } from "../../core/codec/Base64Url.ts"
import { sha256Of } from "../../core/codec/Sha256.ts"
import { TokenCache } from "../../core/engine/caches.ts"
import { GrantId } from "../../core/rules/Id.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { makeSealer, type Place, type Sealer, sealKey } from "../../core/token/KeyRing.ts"
import { type AccessToken, open, seal, serialAt } from "../../core/token/Token.ts"

const now = Instant.make(1_000_000)
const home: Place = { id: "home", issuer: "https://auth.example.com" }
const token: AccessToken = {
  kind: "access",
  grant: GrantId.make("A".repeat(22)),
  expiresAt: later(now, 1000),
  epoch: 0,
  serial: "0123456789abcdef",
  scope: null,
  resources: null,
  binding: null,
  actors: null
}
const sealerOf = (byte: number): Sealer => makeSealer([sealKey(new Uint8Array(32).fill(byte))])

describe("an access token that was opened before", () => {
  const sealer = sealerOf(1)
  const text = seal(sealer, home, token)

  test("is the same again, and expires when it does", () => {
    const opened = new TokenCache({ current: () => sealer }, 100)
    const first = opened.open(home, text, now)
    expect(first).toEqual(Result.succeed(token))
    expect(Result.getOrNull(opened.open(home, text, now))).toBe(Result.getOrNull(first))
    expect(opened.open(home, text, later(now, 999))).toEqual(Result.succeed(token))
    expect(opened.open(home, text, later(now, 1000))).toEqual(Result.fail("expired"))
  })

  test("lends its seal to no text that differs anywhere", () => {
    const opened = new TokenCache({ current: () => sealer }, 100)
    for (let at = 0; at < text.length; at++) {
      expect(opened.open(home, text, now)).toEqual(Result.succeed(token))
      for (const other of ["A", "B", "-", " ", ""]) {
        const changed = text.slice(0, at) + other + text.slice(at + 1)
        if (changed === text) continue
        expect(opened.open(home, changed, now)).toEqual(open(sealer, home, "access", changed, now))
        expect(Result.isFailure(opened.open(home, changed, now))).toBe(true)
      }
    }
  })

  test("is nothing in another workspace, or under another issuer", () => {
    const opened = new TokenCache({ current: () => sealer }, 100)
    opened.open(home, text, now)
    expect(opened.open({ ...home, id: "other" }, text, now)).toEqual(Result.fail("forged"))
    const staging = { ...home, issuer: "https://staging.example.com" }
    expect(opened.open(staging, text, now)).toEqual(Result.fail("forged"))
  })

  test("is told from another one that has the same serial", () => {
    const opened = new TokenCache({ current: () => sealer }, 100)
    const other = { ...token, epoch: 1 }
    const otherText = seal(sealer, home, other)
    for (const _ of [1, 2]) {
      expect(opened.open(home, text, now)).toEqual(Result.succeed(token))
      expect(opened.open(home, otherText, now)).toEqual(Result.succeed(other))
    }
  })

  test("is found by its serial, so that none takes the place of another", () => {
    const opened = new TokenCache({ current: () => sealer }, 400)
    const texts = Array.from({ length: 100 }, (_, n) =>
      seal(sealer, home, { ...token, serial: hexOf(sha256Of(Uint8Array.of(n))).slice(0, 16) })
    )
    expect(new Set(texts.map((each) => each.slice(serialAt, serialAt + 5))).size).toBe(100)
    const first = texts.map((each) => Result.getOrNull(opened.open(home, each, now)))
    // What is kept is the same object, and not only like it.
    const again = texts.map((each) => Result.getOrNull(opened.open(home, each, now)))
    expect(again.filter((each, n) => each !== first[n])).toEqual([])
  })

  test("is one of as many as may be kept at hand, and is opened anew after them", () => {
    const opened = new TokenCache({ current: () => sealer }, 8)
    const texts = Array.from({ length: 100 }, (_, n) =>
      seal(sealer, home, { ...token, serial: hexOf(sha256Of(Uint8Array.of(n))).slice(0, 16) })
    )
    const first = texts.map((each) => Result.getOrNull(opened.open(home, each, now)))
    // What is kept is the same object, and not only like it.
    const again = (n: number) => Result.getOrNull(opened.open(home, texts[n] ?? "", now)) === first[n]
    expect([99, 98, 97, 96].map(again)).toEqual([true, true, true, true])
    expect([0, 50, 91].map(again)).toEqual([false, false, false])
  })

  test("is nothing once its key has left the ring", () => {
    let ring = sealer
    const opened = new TokenCache({ current: () => ring }, 100)
    opened.open(home, text, now)
    ring = sealerOf(2)
    expect(opened.open(home, text, now)).toEqual(Result.fail("unknown_key"))
  })

  test("is opened whatever its length, and kept at hand up to 512 characters", () => {
    const opened = new TokenCache({ current: () => sealer }, 100)
    const lengths = new Set<number>()
    for (let more = 250; more < 300; more++) {
      const long = { ...token, resources: [Resource.make(`https://api.example.org/${"a".repeat(more)}`)] as const }
      const longText = seal(sealer, home, long)
      const [first, again] = [1, 2].map(() => opened.open(home, longText, now))
      expect(again).toEqual(Result.succeed(long))
      expect(first !== undefined && again !== undefined && Result.getOrNull(first) === Result.getOrNull(again)).toBe(
        longText.length <= 512
      )
      lengths.add(longText.length)
    }
    expect(lengths).toContain(512)
  })
})
