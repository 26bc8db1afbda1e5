import { describe, expect, test } from "bun:test"
import { Option, Redacted, Result } from "effect"
import { type KeyTerms, keyNameLength, longestKeyLifetime, readKeyTerms } from "../../core/grant/apiKey.ts"
import { networkOf, regionOf } from "../../core/ports/Limiter.ts"
import { earlier, hasPassed, Instant, later } from "../../core/rules/Instant.ts"
import { readChallenge, readVerifier } from "../../core/rules/Pkce.ts"
import { Prompt, readPrompts } from "../../core/rules/Prompt.ts"
import { standardScopes } from "../../core/rules/Scope.ts"
import { credential, digestOf, hasValidChecksum, isInitialToken, sameDigest } from "../../core/rules/Secret.ts"
import { groupedCode, readUserCode, UserCode, userCodeEntropy, userCodeOf } from "../../core/rules/UserCode.ts"
import { withChecksum } from "../given/withChecksum.ts"

describe("times", () => {
  test("an expiry is the first moment that no longer counts", () => {
    const now = Instant.make(10)
    expect(hasPassed(now, now)).toBe(true)
    expect(hasPassed(later(now, 1), now)).toBe(false)
    expect(later(now, 5)).toBe(Instant.make(15))
    expect(earlier(now, later(now, 1))).toBe(now)
    expect(earlier(later(now, 1), now)).toBe(now)
  })
})

describe("the prompts of a request (OpenID Connect Core §3.1.2.1)", () => {
  test("are those that there are, each once, in the table's order", () => {
    const rows: ReadonlyArray<readonly [string, ReadonlyArray<Prompt>]> = [
      ["", []],
      ["none", ["none"]],
      [" none  none ", ["none"]],
      ["consent login consent", ["login", "consent"]],
      ["select_account create", ["select_account"]],
      ["None LOGIN", []],
      [Prompt.literals.slice(1).toReversed().join(" "), Prompt.literals.slice(1)]
    ]
    for (const [text, prompts] of rows) expect([text, readPrompts(text)]).toEqual([text, Result.succeed(prompts)])
  })

  test("have none alone, also beside what other servers know", () => {
    for (const text of ["none login", "login none", "none create"]) {
      expect(Result.mapError(readPrompts(text), ({ reason }) => reason)).toEqual(
        Result.fail("prompt_none_with_another")
      )
    }
  })
})

describe("a user code (RFC 8628 §6.1)", () => {
  const letters = "BCDFGHJKLMNPQRSTVWXZ"

  test("is eight letters, of which the lowest of the random number's digits comes first", () => {
    const bytes = (...all: ReadonlyArray<number>) =>
      Uint8Array.from([...Array(userCodeEntropy).fill(0), ...all].slice(-userCodeEntropy))
    expect<string>(userCodeOf(bytes())).toBe("BBBBBBBB")
    expect<string>(userCodeOf(bytes(19))).toBe("ZBBBBBBB")
    expect<string>(userCodeOf(bytes(20))).toBe("BCBBBBBB")
    expect<string>(userCodeOf(bytes(1, 0))).toBe(`${letters[256 % 20]}${letters[Math.floor(256 / 20)]}BBBBBB`)
    const most = 2n ** 64n - 1n
    const digits = Array.from({ length: 8 }, (_, at) => letters.charAt(Number((most / 20n ** BigInt(at)) % 20n)))
    expect<string>(userCodeOf(bytes(...Array(userCodeEntropy).fill(255)))).toBe(digits.join(""))
    expect(groupedCode(UserCode.make("BCDFGHJK"))).toBe("BCDF-GHJK")
  })

  test("is read without case, blanks and dashes, and is nothing else", () => {
    for (const typed of [
      "BCDFGHJK",
      "bcdf-ghjk",
      " BCDF GHJK ",
      "B-C-D-F\u2013G\u2014H\tJK",
      `${" ".repeat(56)}BCDFGHJK`
    ]) {
      expect<unknown>([typed, readUserCode(typed)]).toEqual([typed, "BCDFGHJK"])
    }
    for (const odd of [
      "",
      "BCDFGHJ",
      "BCDFGHJKL",
      "ABCDFGHJ",
      "BCDFGHJ1",
      "BCDF.GHJK",
      "BCDFGHJÉ",
      `${" ".repeat(57)}BCDFGHJK`
    ]) {
      expect([odd, readUserCode(odd)]).toEqual([odd, undefined])
    }
  })
})

describe("PKCE texts (RFC 7636 §4.1, §4.2)", () => {
  test("are 43 to 128 unreserved characters", () => {
    const readers: ReadonlyArray<(text: string) => Option.Option<string>> = [readChallenge, readVerifier]
    for (const read of readers) {
      for (const good of ["a".repeat(43), "a".repeat(128), `${"a".repeat(39)}-._~`]) {
        expect(read(good)).toEqual(Option.some(good))
      }
      for (const bad of [
        "a".repeat(42),
        "a".repeat(129),
        `${"a".repeat(43)}+`,
        `${"a".repeat(43)}=`,
        `${"a".repeat(43)}\n`,
        ""
      ]) {
        expect(Option.isNone(read(bad))).toBe(true)
      }
    }
  })
})

describe("secrets", () => {
  test("have the digest that SHA-256 has (FIPS 180-2's abc)", () => {
    expect(String(digestOf("abc"))).toBe(
      Buffer.from("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "hex").toString("base64url")
    )
  })

  test("are the same only when every character is", () => {
    expect(sameDigest("abc", "abc")).toBe(true)
    for (const other of ["abd", "xbc", "ab", "abcd", ""]) expect(sameDigest("abc", other)).toBe(false)
    expect(sameDigest("", "")).toBe(true)
  })

  test("print as redacted, and end in a checksum that knows a changed or cut text", () => {
    const made = credential("tsr_cs_", new Uint8Array(32).fill(9))
    const text = Redacted.value(made.text)
    expect(String(made.text)).not.toContain(text.slice(7))
    expect(JSON.stringify(made)).not.toContain(text.slice(7))
    expect(made.digest).toBe(digestOf(text))
    expect(text).toMatch(/^tsr_cs_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/)
    expect(hasValidChecksum(text)).toBe(true)
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1)
      expect(hasValidChecksum(changed)).toBe(false)
      expect(hasValidChecksum(text.slice(0, at))).toBe(false)
    }
  })

  test("the checksum is the usual CRC-32, in base 62", () => {
    // CRC-32 of "123456789" is 0xcbf43926 = 3421780262.
    expect(withChecksum("123456789")).toBe(`123456789${digits(3_421_780_262)}`)
    expect(hasValidChecksum("000000")).toBe(false)
  })
})

const digits = (value: number): string => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  return Array.from({ length: 6 }, (_, place) => alphabet[Math.floor(value / 62 ** (5 - place)) % 62]).join("")
}

describe("what a key may be called, and how long it may last", () => {
  const faultOf = (terms: KeyTerms) =>
    Option.getOrUndefined(Result.getFailure(readKeyTerms(terms, standardScopes)))?.reason

  test("has an end on both sides", () => {
    expect(faultOf({ name: "a".repeat(keyNameLength), lasts: undefined })).toBeUndefined()
    expect(faultOf({ name: "a".repeat(keyNameLength + 1), lasts: undefined })).toBe("long_name")
    for (const lasts of [1, longestKeyLifetime]) expect(faultOf({ name: "a", lasts })).toBeUndefined()
    for (const lasts of [0, 0.5, -1, longestKeyLifetime + 1, Number.NaN]) {
      expect(faultOf({ name: "a", lasts })).toBe("lifetime")
    }
  })

  test("opens everything, introspection alone, or scopes that there are", () => {
    const reach = (opens: KeyTerms["opens"] & (string | object)) =>
      Result.getOrThrow(readKeyTerms({ name: "a", lasts: undefined, opens }, standardScopes)).reach
    expect(reach("everything")).toMatchObject({ use: "everything", scope: ["api", "profile"] })
    expect(reach("introspection")).toMatchObject({ use: "introspection", scope: [] })
    expect(reach(["profile", "profile"])).toMatchObject({ use: "scopes", scope: ["profile"] })
    expect(reach(["profile", "api"])).toMatchObject({ use: "scopes", scope: ["api", "profile"] })
    for (const opens of [[], ["apy"], ["api", "apy"]]) {
      expect(faultOf({ name: "a", lasts: undefined, opens })).toBe("scopes")
    }
  })
})

describe("an initial access token", () => {
  test("has sixteen characters that a header can carry", () => {
    expect(isInitialToken("a".repeat(16))).toBe(true)
    for (const bad of ["a".repeat(15), `${"a".repeat(16)} b`, `${"a".repeat(16)}é`]) {
      expect(isInitialToken(bad)).toBe(false)
    }
  })
})

describe("whom an address stands for", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:0002::1", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80:1:2:3:4:5:6:7%eth0", "fe80:1:2:3::/64"],
    ["::FFFF:203.0.113.199", "203.0.113.199"],
    ["::ffff:0:192.0.2.7", "0:0:0:0::/64"],
    ["64::ffff:192.0.2.7", "64:0:0:0::/64"],
    ["::ffff:192.0.2.7%1", "0:0:0:0::/64"],
    ["2001:db8:1:2:3:4:5::", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001::", "2001:0:0:0::/64"],
    ["1::2:3:4:5:6:7", "1:0:2:3::/64"],
    ["1::3:4:5:6:7:8", "1:0:3:4::/64"],
    ["::3:4:5:6:7:8", "0:0:3:4::/64"],
    ["::2:3:4:5:6:7:8", "0:2:3:4::/64"],
    ["0010:0:0a00::", "10:0:a00:0::/64"],
    ["localhost", "localhost"]
  ]
  for (const [address, network] of cases)
    test(`${address} → ${network}`, () => expect(networkOf(address)).toBe(network))

  test("has the /48 around it, where it is IPv6", () => {
    expect(regionOf("2001:db8:1:2::/64")).toBe("2001:db8:1::/48")
    expect(regionOf("0:0:0:0::/64")).toBe("0:0:0::/48")
    expect([regionOf("192.0.2.7"), regionOf("")]).toEqual([undefined, undefined])
  })
})
