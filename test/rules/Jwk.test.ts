import { describe, expect, test } from "bun:test"
import { Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import {
  type Algorithm,
  algorithms,
  candidates,
  fitsAlgorithm,
  isAlgorithm,
  keyMaterial,
  PublicKey,
  privateKeyIn,
  readJwkSet,
  readPublicKey,
  sameAlgorithm,
  thumbprint
} from "../../core/rules/Jwk.ts"

const part = (length: number, byte = 1) => Base64Url.encode(new Uint8Array(length).fill(byte))

const ec = { kty: "EC", crv: "P-256", x: part(32), y: part(32, 2) } as const
const okp = { kty: "OKP", crv: "Ed25519", x: part(32, 3) } as const
const rsa = { kty: "RSA", n: part(256, 4), e: "AQAB" } as const
const every = [ec, okp, rsa]

describe("a public key", () => {
  const read = (jwk: unknown) => readPublicKey(jwk)

  test("is one of three kinds, with what it says of itself", () => {
    for (const key of every) {
      expect(read(key)).toEqual(Result.succeed(key))
      const more = { ...key, kid: "k", alg: "a", use: "sig", key_ops: ["verify"] }
      expect(read(more)).toEqual(Result.succeed(more))
      // What a set tells besides is nothing that is kept.
      expect(read({ ...key, x5c: ["…"], ext: true })).toEqual(Result.succeed(key))
    }
  })

  test("is refused where a part is missing, odd, too short or too long", () => {
    const rows: ReadonlyArray<unknown> = [
      undefined,
      null,
      "key",
      7,
      {},
      { ...ec, kty: "ec" },
      { ...ec, crv: "P-384" },
      { ...ec, x: part(31) },
      { ...ec, x: part(33) },
      { ...ec, y: part(31) },
      { ...ec, y: `${part(32).slice(0, -1)}+` },
      { ...ec, y: undefined },
      { ...okp, crv: "Ed448" },
      { ...okp, x: part(33) },
      { ...okp, x: "" },
      { ...okp, x: "A" },
      { ...rsa, n: part(255) },
      { ...rsa, n: part(513) },
      { ...rsa, e: "" },
      { ...rsa, e: part(5) },
      { ...rsa, e: "AQAB=" },
      { ...rsa, n: `${part(256)}=` },
      { ...rsa, kid: "k".repeat(257) },
      { ...rsa, kid: 7 },
      { ...rsa, alg: "a".repeat(33) },
      { ...rsa, use: "u".repeat(33) },
      { ...rsa, key_ops: ["o".repeat(33)] },
      { ...rsa, key_ops: Array(9).fill("verify") },
      { ...rsa, key_ops: "verify" }
    ]
    for (const row of rows) expect([row, read(row)]).toEqual([row, Result.fail("malformed")])
  })

  test("may be as long as is said, and as short", () => {
    const rows = [
      { ...rsa, n: part(512) },
      { ...rsa, e: part(1) },
      { ...rsa, e: part(4) },
      { ...rsa, kid: "k".repeat(256), alg: "a".repeat(32), use: "u".repeat(32) },
      { ...rsa, key_ops: Array(8).fill("o".repeat(32)) }
    ]
    for (const row of rows) expect(read(row)).toEqual(Result.succeed(row))
  })

  test.each(["d", "p", "q", "dp", "dq", "qi", "oth", "k"])("with the secret member %s is a secret", (member) => {
    for (const key of every) {
      for (const value of ["AQAB", "", null]) {
        expect(read({ ...key, [member]: value })).toEqual(Result.fail("private_key"))
        expect(readJwkSet({ keys: [key, { kty: "oct", [member]: value }] })).toEqual(Result.fail("private_key"))
      }
    }
  })
})

test("of a set the keys that can be used are taken, twenty at most, and others are passed over", () => {
  const other = { kty: "EC", crv: "P-521", x: "AQ", y: "AQ" }
  expect(readJwkSet({ keys: [ec, other, rsa, {}] })).toEqual(Result.succeed([ec, rsa]))
  expect(readJwkSet({ keys: [], more: true })).toEqual(Result.succeed([]))
  expect(readJwkSet({ keys: Array(20).fill(ec) })).toEqual(Result.succeed(Array(20).fill(ec)))
  for (const odd of [undefined, null, [], {}, { keys: ec }, { keys: [7] }, { keys: Array(21).fill(ec) }]) {
    expect([odd, readJwkSet(odd)]).toEqual([odd, Result.fail("malformed")])
  }
})

test("of a set the first private key is found, whatever else is wrong with the set, and by which member it is one", () => {
  const more = Array(21).fill(ec)
  for (const [keys, found] of [
    [[ec, rsa], undefined],
    [[], undefined],
    [[{ ...ec, d: "AQAB" }, rsa], { index: 0, member: "d" }],
    [[ec, 7, null, { kty: "oct", k: "" }, { ...rsa, p: "AQAB" }], { index: 3, member: "k" }],
    [[...more, { ...rsa, q: null, dp: "AQAB" }], { index: 21, member: "q" }]
  ] as const) {
    expect([keys, privateKeyIn({ keys })]).toEqual([keys, found])
  }
  for (const odd of [undefined, null, "keys", [], {}, { keys: { ...ec, d: "AQAB" } }]) {
    expect([odd, privateKeyIn(odd)]).toEqual([odd, undefined])
  }
})

test("a thumbprint is that of RFC 7638, and material tells keys apart", () => {
  // RFC 7638 §3.1, RFC 8037 appendix A.3.
  const n =
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
  expect<string>(thumbprint({ kty: "RSA", n, e: "AQAB", kid: "2011-04-29" })).toBe(
    "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
  )
  expect<string>(thumbprint({ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" })).toBe(
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
  )
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify({ crv: ec.crv, kty: "EC", x: ec.x, y: ec.y }))
  expect<string>(thumbprint(ec)).toBe(digest.digest("base64url"))
  const keys: ReadonlyArray<PublicKey> = [
    ...every,
    { ...ec, y: ec.x },
    { ...ec, x: ec.y },
    { ...okp, x: ec.x },
    { ...rsa, e: "AQ" },
    { ...rsa, n: part(256, 5) }
  ]
  expect(new Set(keys.map(keyMaterial)).size).toBe(keys.length)
  expect(new Set(keys.map(thumbprint)).size).toBe(keys.length)
  for (const key of every) expect(keyMaterial({ ...key, kid: "k", use: "sig" })).toBe(keyMaterial(key))
})

describe("a signature's algorithm", () => {
  const of: Readonly<Record<PublicKey["kty"], ReadonlyArray<Algorithm>>> = {
    EC: ["ES256"],
    OKP: ["EdDSA", "Ed25519"],
    RSA: ["PS256", "RS256"]
  }
  const fitting = (key: PublicKey) => algorithms.filter((algorithm) => fitsAlgorithm(key, algorithm))

  test("is one of five, of which two are one", () => {
    expect(["none", "HS256", "RS384", "es256", ""].some((name) => isAlgorithm(name))).toBe(false)
    for (const one of algorithms) {
      expect(isAlgorithm(one)).toBe(true)
      for (const other of algorithms) {
        const both = [one, other].every((name) => of.OKP.includes(name))
        expect([one, other, sameAlgorithm(one, other)]).toEqual([one, other, one === other || both])
      }
    }
  })

  test("has to be of the key's kind, and the one that the key names, if any", () => {
    for (const key of every) {
      expect(fitting(key)).toEqual(algorithms.filter((algorithm) => of[key.kty].includes(algorithm)))
      for (const alg of algorithms) {
        const named = algorithms.filter((one) => of[key.kty].includes(one) && sameAlgorithm(one, alg))
        expect([alg, fitting({ ...key, alg })]).toEqual([alg, named])
      }
      for (const alg of ["none", "HS256", ""]) expect(fitting({ ...key, alg })).toEqual([])
    }
  })

  test("is of no key that is for something else", () => {
    expect(fitting({ ...ec, use: "sig", key_ops: ["sign", "verify"] })).toEqual(["ES256"])
    for (const more of [{ use: "enc" }, { use: "" }, { key_ops: [] }, { key_ops: ["sign"] }]) {
      expect([more, fitting({ ...ec, ...more })]).toEqual([more, []])
    }
    expect(fitting({ ...ec, use: "enc", key_ops: ["verify"] })).toEqual([])
    expect(fitting({ ...ec, use: "sig", key_ops: ["sign"] })).toEqual([])
  })

  test("is tried with the key that it names, or with the first four that may have made it", () => {
    const keys = ["a", "b", "b", "c", "d", "e"].map((kid) => ({ ...ec, kid }))
    const among = [okp, ...keys, ec]
    const kids = (kid: string | undefined) => candidates(among, kid, "ES256").map((key) => key.kid)
    expect(kids(undefined)).toEqual(["a", "b", "b", "c"])
    expect(kids("b")).toEqual(["b", "b"])
    expect(kids("e")).toEqual(["e"])
    expect(kids("")).toEqual([])
    expect(candidates(among, undefined, "EdDSA")).toEqual([okp])
    expect(candidates(among, undefined, "RS256")).toEqual([])
  })
})

test("a stored key is read as one that is sent", () => {
  const decode = Schema.decodeUnknownOption(PublicKey)
  for (const key of every) expect(decode(key)).toEqual(Option.some(key))
})
