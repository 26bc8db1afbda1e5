import { expect, test } from "bun:test"
import { Result } from "effect"
import { type KeySetFault, mostKeys, readKeySet } from "../../core/engine/keySet.ts"

const rsa = { kty: "RSA", n: "AQAB", e: "AQAB", kid: "rsa" }
const ec = { kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "ec", use: "sig" }
const okp = { kty: "OKP", crv: "Ed25519", x: "AA", key_ops: ["verify"] }

const read = (set: unknown) =>
  Result.match(readKeySet(set), { onFailure: (fault): unknown => fault, onSuccess: (keys) => keys })

test("a set is an object with a list of keys, and of no more than so many", () => {
  for (const set of [undefined, null, 5, "keys", [], [rsa], {}, { keys: null }, { keys: {} }, { keys: "rsa" }]) {
    expect(read(set)).toEqual("malformed" satisfies KeySetFault)
  }
  expect(read({ keys: [] })).toEqual([])
  expect(read({ keys: [rsa, ec, okp], more: 1 })).toEqual([rsa, ec, okp])
  const many = (count: number) => ({ keys: Array.from({ length: count }, () => rsa) })
  expect(read(many(mostKeys))).toHaveLength(mostKeys)
  expect(read(many(mostKeys + 1))).toEqual("too_many" satisfies KeySetFault)
})

test("keys that verify no signature are passed over", () => {
  const others: ReadonlyArray<unknown> = [
    null,
    5,
    "rsa",
    [],
    {},
    { kty: "AKP", pub: "AA" },
    { kty: "rsa", n: "AQAB", e: "AQAB" },
    { kty: "RSA", n: "AQAB" },
    { kty: "RSA", n: "AQAB", e: 65537 },
    { kty: "EC", crv: "P-256", x: "AA" },
    { kty: "OKP", x: "AA" },
    { kty: "__proto__" },
    { ...rsa, kid: 5 },
    { ...rsa, use: "enc" },
    { ...rsa, use: ["sig"] },
    { ...rsa, key_ops: ["sign"] },
    { ...rsa, key_ops: ["encrypt", "wrapKey"] },
    { ...rsa, key_ops: "verify" }
  ]
  expect(read({ keys: [...others, ec] })).toEqual([ec])
})

test("a set with something private in it is good for nothing, whatever kind of key it is in", () => {
  const secretive: ReadonlyArray<object> = [
    ...["d", "p", "q", "dp", "dq", "qi"].map((name) => ({ ...rsa, [name]: "AA" })),
    { ...rsa, oth: [] },
    { ...ec, d: "AA" },
    { ...okp, d: null },
    { kty: "oct", k: "AA" },
    { kty: "unknown", d: "AA" }
  ]
  for (const key of secretive) {
    expect([key, read({ keys: [ec, key] })]).toEqual([key, "private_key" satisfies KeySetFault])
  }
})
