import { Effect, Layer, Option, Result } from "effect"
import type { CompactVerifyResult, CryptoKey, JWK } from "jose"
import { LruMap } from "../../core/cache/LruMap.ts"
import { readJws } from "../../core/codec/Jws.ts"
import { SignatureFault, Signatures } from "../../core/ports/Signatures.ts"
import { type Algorithm, candidates, isAlgorithm, keyMaterial, type PublicKey } from "../../core/rules/Jwk.ts"

/** Loaded with the first signature: most servers see none. */
const jose = () => import("jose")

/** An imported key is some kilobytes outside of JavaScript's memory. */
const keysKept = 1000

/** By what its thumbprint is made of: another client, or another copy of the set, brings the same key again. */
const makeImports = () => {
  const imported = new LruMap<string, Promise<CryptoKey | Uint8Array>>(keysKept)
  return (key: PublicKey, algorithm: Algorithm) => {
    const name = `${algorithm} ${keyMaterial(key)}`
    const known = imported.get(name)
    if (known !== undefined) return known
    // Members by which a key is known, and not what it says of its use: that was looked at, and this copy serves others.
    const { alg: _alg, key_ops: _ops, kid: _kid, use: _use, ...material } = key
    const made = jose().then(({ importJWK }) => importJWK(material, algorithm))
    imported.set(name, made)
    // A point that is not on the curve is found out each time, and is nothing to remember.
    made.catch(() => imported.delete(name))
    return made
  }
}

const utf8 = new TextEncoder()

const fault = (reason: SignatureFault["reason"]) => Effect.fail(new SignatureFault({ reason }))

/** By the package `jose`, which does the arithmetic by WebCrypto and depends on nothing. */
const make = (): Signatures["Service"] => {
  const keyOf = makeImports()

  const holds = (
    jws: string,
    key: PublicKey,
    algorithm: Algorithm
  ): Effect.Effect<CompactVerifyResult, SignatureFault> =>
    Effect.tryPromise({
      try: async () => {
        const { compactVerify } = await jose()
        return compactVerify(jws, await keyOf(key, algorithm), { algorithms: [algorithm] })
      },
      catch: () => new SignatureFault({ reason: "forged" })
    })

  return {
    verify: Effect.fnUntraced(function* (jws, keys, allowed) {
      const read = readJws(jws)
      if (Option.isNone(read)) return yield* fault("malformed")
      const { claims, header } = read.value
      const { alg, crit, kid } = header
      // RFC 7515 §4.1.11: no extension is understood here. RFC 7797's `b64` has to be in `crit` too.
      if (crit !== undefined || header.b64 !== undefined) return yield* fault("malformed")
      if (!isAlgorithm(alg) || !allowed.includes(alg)) return yield* fault("algorithm")
      const tried = candidates(keys, typeof kid === "string" ? kid : undefined, alg)
      if (tried.length === 0) return yield* fault("no_key")
      for (const key of tried) {
        const held = yield* Effect.result(holds(jws, key, alg))
        if (Result.isSuccess(held)) return { header, claims, key }
      }
      return yield* fault("forged")
    }),
    sign: (key, algorithm, header, claims) =>
      Effect.tryPromise({
        try: async () => {
          const { CompactSign, importJWK } = await jose()
          const signing = new CompactSign(utf8.encode(JSON.stringify(claims)))
          // Whoever made the key says that it is one, and the package looks at each member.
          return signing.setProtectedHeader({ ...header, alg: algorithm }).sign(await importJWK(key as JWK, algorithm))
        },
        catch: () => new SignatureFault({ reason: "failed" })
      })
  }
}

export const layer: Layer.Layer<Signatures> = Layer.sync(Signatures, make)
