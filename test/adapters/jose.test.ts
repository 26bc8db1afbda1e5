import { expect, spyOn, test } from "bun:test"
import { Effect, Redacted, Result } from "effect"
import { CompactSign, exportJWK, generateKeyPair } from "jose"
import { makeSignatures } from "../../adapters/jose/Signatures.ts"
import { base64Url } from "../../core/codec/Base64Url.ts"
import { type PublicKey, readPublicKey } from "../../core/rules/Jwk.ts"

const part = (value: unknown): string => base64Url(new TextEncoder().encode(JSON.stringify(value)))

/** Another key for each number, and a signature that none of them made. */
const keyOf = (number: number): PublicKey => {
  const x = new Uint8Array(32)
  new DataView(x.buffer).setUint32(0, number)
  return { kty: "OKP", crv: "Ed25519", x: base64Url(x) }
}
const forged = `${part({ alg: "EdDSA" })}.${part({})}.${base64Url(new Uint8Array(64))}`

/** What was asked of the platform: each key that it imported, and whether it would hand it out again. */
const imports = async (work: Effect.Effect<unknown, unknown>) => {
  const asked = spyOn(crypto.subtle, "importKey")
  try {
    await Effect.runPromise(work)
    return asked.mock.calls.map(([, , , extractable, uses]) => ({ extractable, uses: [...uses].join() }))
  } finally {
    asked.mockRestore()
  }
}

test("an imported key is kept by what it is, whatever it says of itself, and as one of a thousand", async () => {
  const { verify } = makeSignatures()
  const tried = (key: PublicKey) => Effect.flip(verify(forged, [key], ["EdDSA"]))
  const many = (from: number, count: number) =>
    Effect.forEach(
      Array.from({ length: count }, (_, at) => keyOf(from + at)),
      tried,
      { discard: true }
    )

  expect(await imports(many(0, 10))).toHaveLength(10)
  expect(await imports(many(0, 10))).toHaveLength(0)
  expect(await imports(tried({ ...keyOf(0), kid: "another", use: "sig", alg: "EdDSA" }))).toHaveLength(0)
  // Of the first ten nothing is kept by then.
  expect(await imports(many(10, 2000))).toHaveLength(2000)
  expect(await imports(many(0, 10))).toHaveLength(10)
})

test("a key verifies whatever it says of its use, for others that say nothing of it too, and by no algorithm but those allowed", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  const key = await Effect.runPromise(Effect.fromResult(readPublicKey(await exportJWK(publicKey))))
  const jws = await new CompactSign(new TextEncoder().encode("{}"))
    .setProtectedHeader({ alg: "ES256" })
    .sign(privateKey)
  const { verify } = makeSignatures()
  for (const said of [{ key_ops: ["sign", "verify"], use: "sig", alg: "ES256" }, {}]) {
    expect((await Effect.runPromise(verify(jws, [{ ...key, ...said }], ["ES256"]))).claims).toEqual({})
  }
  const elsewhere = verify(jws, [key], ["EdDSA", "Ed25519", "PS256", "RS256"])
  expect((await Effect.runPromise(Effect.flip(elsewhere))).reason).toBe("algorithm")
})

test("the platform hands out no private key that was unwrapped", async () => {
  const { makeKey, signer } = makeSignatures()
  const wrapping = { key: Redacted.make(new Uint8Array(32).fill(1)), boundTo: "here" }
  const { wrapped } = await Effect.runPromise(makeKey("ES256", () => wrapping))
  const asked = await imports(signer({ wrapped, wrapping }, "ES256"))
  expect(asked.filter(({ uses }) => uses === "sign")).toEqual([{ extractable: false, uses: "sign" }])
})

test.each(["PS256", "RS256"] as const)("a key for %s is drawn while requests go on, and signs", async (algorithm) => {
  const { makeKey, signer, verify } = makeSignatures()
  const wrapping = { key: Redacted.make(new Uint8Array(32).fill(1)), boundTo: "here" }
  // What is loaded with the first is there by then.
  await Effect.runPromise(makeKey("EdDSA", () => wrapping))
  let turns = 0
  let drawn = false
  const turn = () => {
    turns += 1
    if (!drawn) setImmediate(turn)
  }
  setImmediate(turn)
  const { publicKey, wrapped } = await Effect.runPromise(makeKey(algorithm, () => wrapping))
  drawn = true
  // A key takes thousands of them; one that is drawn on this thread leaves a handful.
  expect(turns).toBeGreaterThan(50)
  const sign = await Effect.runPromise(signer({ wrapped, wrapping }, algorithm))
  const jws = await Effect.runPromise(sign({}, { iss: "here" }))
  expect((await Effect.runPromise(verify(jws, [publicKey], [algorithm]))).claims).toEqual({ iss: "here" })
})

test("a key that is wrapped anew has another nonce: two of one cipher would tell both apart from it", async () => {
  const { makeKey, rewrap } = makeSignatures()
  const wrapping = { key: Redacted.make(new Uint8Array(32).fill(1)), boundTo: "here" }
  const { wrapped } = await Effect.runPromise(makeKey("EdDSA", () => wrapping))
  const again = Array.from({ length: 10 }, () => rewrap({ wrapped, wrapping }, wrapping))
  const all = [wrapped, ...(await Effect.runPromise(Effect.all(again)))]
  // Twelve bytes.
  expect(new Set(all.map((text) => text.slice(0, 16))).size).toBe(all.length)
})

test("a key that stands in the clear where a wrapped one was is none: who writes to the store has no key sign", async () => {
  const { signer } = makeSignatures()
  const { privateKey } = await generateKeyPair("ES256", { extractable: true })
  const wrapping = { key: Redacted.make(new Uint8Array(32).fill(1)), boundTo: "here" }
  const text = new TextEncoder().encode(JSON.stringify(await exportJWK(privateKey)))
  for (const wrapped of [base64Url(text), base64Url(new Uint8Array([...new Uint8Array(12), ...text])), "", "%"]) {
    const fault = await Effect.runPromise(Effect.flip(signer({ wrapped, wrapping }, "ES256")))
    expect([wrapped, fault.reason]).toEqual([wrapped, "wrapped"])
  }
})

test("a key that opened where it belongs opens nowhere else: who moves it in the store has no other issuer sign", async () => {
  const { makeKey, signer } = makeSignatures()
  const wrapping = { key: Redacted.make(new Uint8Array(32).fill(1)), boundTo: "here" }
  const { wrapped } = await Effect.runPromise(makeKey("ES256", () => wrapping))
  await Effect.runPromise(signer({ wrapped, wrapping }, "ES256"))
  const elsewhere = signer({ wrapped, wrapping: { ...wrapping, boundTo: "elsewhere" } }, "ES256")
  expect((await Effect.runPromise(Effect.flip(elsewhere))).reason).toBe("wrapped")
})

test("what the platform finishes in one turn of the event loop goes on together, the forged beside the good", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const key = Result.getOrThrow(readPublicKey(await exportJWK(publicKey)))
  const jws = await new CompactSign(new Uint8Array([123, 125])).setProtectedHeader({ alg: "ES256" }).sign(privateKey)
  const { verify } = makeSignatures()
  const events: Array<string> = []
  let asked = 0
  const platform = spyOn(crypto.subtle, "verify").mockImplementation(async () => {
    const number = ++asked
    // In the same turn, and yet much later than the one before.
    for (let step = 0; step < number * 20; step++) await Promise.resolve()
    events.push(`finished ${number}`)
    return number !== 2
  })
  try {
    const tried = Effect.exit(verify(jws, [key], ["ES256"]))
    const goesOn = Effect.map(tried, ({ _tag }) => void events.push(_tag))
    await Effect.runPromise(Effect.all([goesOn, goesOn, goesOn], { concurrency: "unbounded" }))
  } finally {
    platform.mockRestore()
  }
  expect(events).toEqual(["finished 1", "finished 2", "finished 3", "Success", "Failure", "Success"])
})
