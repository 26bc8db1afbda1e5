import { Effect, Layer, Redacted, Schema } from "effect"
import type { CryptoKey, JWK } from "jose"
import { LruMap } from "../../core/cache/LruMap.ts"
import { base64Url, readBase64Url } from "../../core/codec/Base64Url.ts"
import { kidOf, readJws, type UnverifiedJws } from "../../core/codec/Jws.ts"
import { SignatureFault, Signatures, type Signer, type WrappedKey, type Wrapping } from "../../core/ports/Signatures.ts"
import { type Algorithm, candidates, isAlgorithm, keyMaterial, PublicKey } from "../../core/rules/Jwk.ts"

let loading: Promise<typeof import("jose")> | undefined

/** Loaded with the first signature, since most servers see none; asking the runtime each time costs more than a hash. */
const jose = () => {
  loading ??= import("jose")
  return loading
}

/** An imported key is some kilobytes outside of JavaScript's memory. */
const keysKept = 1000

/** By what its thumbprint is made of: another client, or another copy of the set, brings the same key again. */
const makeImports = () => {
  const imported = new LruMap<string, Promise<CryptoKey | Uint8Array>>(keysKept)
  /** A registered key stays the same object for as long as its client is at hand. */
  const materials = new WeakMap<PublicKey, string>()
  const materialOf = (key: PublicKey): string => {
    const known = materials.get(key) ?? keyMaterial(key)
    materials.set(key, known)
    return known
  }
  return (key: PublicKey, algorithm: Algorithm) => {
    const name = `${algorithm} ${materialOf(key)}`
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

const nonceLength = 12

const gcm = { name: "AES-GCM" } as const

const bytesOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes)

const encryptionKey = ({ key }: Wrapping, use: "encrypt" | "decrypt") =>
  crypto.subtle.importKey("raw", bytesOf(Redacted.value(key)), gcm, false, [use])

/** AES-256-GCM: a random nonce, then what it gives. The few keys that a server wraps draw no nonce twice. */
const wrap = async (text: Uint8Array, wrapping: Wrapping): Promise<string> => {
  const iv = crypto.getRandomValues(new Uint8Array(nonceLength))
  const additionalData = utf8.encode(wrapping.boundTo)
  const key = await encryptionKey(wrapping, "encrypt")
  const sealed = await crypto.subtle.encrypt({ ...gcm, iv, additionalData }, key, bytesOf(text))
  return base64Url(Uint8Array.from([...iv, ...new Uint8Array(sealed)]))
}

const unwrap = async ({ wrapped, wrapping }: WrappedKey): Promise<Uint8Array> => {
  const bytes = bytesOf(readBase64Url(wrapped) ?? new Uint8Array())
  const additionalData = utf8.encode(wrapping.boundTo)
  const key = await encryptionKey(wrapping, "decrypt")
  const iv = bytes.subarray(0, nonceLength)
  return new Uint8Array(await crypto.subtle.decrypt({ ...gcm, iv, additionalData }, key, bytes.subarray(nonceLength)))
}

const utf8Reader = new TextDecoder()

/** Wrapped a while ago by this very adapter, as the encryption has shown. */
const readPrivate = (bytes: Uint8Array): JWK => JSON.parse(utf8Reader.decode(bytes)) as JWK

/** More than any server signs with at once. */
const signersKept = 1000

const rsaLength = 2048

const readPublicKey = Schema.decodeUnknownSync(PublicKey)

interface Pair {
  readonly publicKey: JWK
  readonly privateKey: JWK
}

const drawPair = async (algorithm: Algorithm): Promise<Pair> => {
  const { exportJWK, generateKeyPair } = await jose()
  const pair = await generateKeyPair(algorithm, { extractable: true, modulusLength: rsaLength })
  return { publicKey: await exportJWK(pair.publicKey), privateKey: await exportJWK(pair.privateKey) }
}

/** Bun's WebCrypto draws an RSA key on the thread that serves, and all wait for it. Its `node:crypto` has another one. */
const drawRsaOnBun = (): Promise<Pair> =>
  new Promise((resolve, reject) => {
    process
      .getBuiltinModule("node:crypto")
      .generateKeyPair("rsa", { modulusLength: rsaLength }, (error, publicKey, privateKey) => {
        if (error !== null) return reject(error)
        resolve({ publicKey: publicKey.export({ format: "jwk" }), privateKey: privateKey.export({ format: "jwk" }) })
      })
  })

const isRsa = (algorithm: Algorithm): boolean => algorithm === "PS256" || algorithm === "RS256"

const makePair = async (algorithm: Algorithm, wrappingOf: (made: PublicKey) => Wrapping) => {
  const pair = await ("Bun" in globalThis && isRsa(algorithm) ? drawRsaOnBun() : drawPair(algorithm))
  // Without what the platform says of its use.
  const publicKey = readPublicKey(pair.publicKey)
  const privateKey = utf8.encode(JSON.stringify(pair.privateKey))
  return { publicKey, wrapped: await wrap(privateKey, wrappingOf(publicKey)) }
}

/** Unwrapped keys, by what they are wrapped as and bound to: the platform holds them, and hands none out. */
const makeSigningKeys = () => {
  const opened = new LruMap<string, Promise<CryptoKey>>(signersKept)
  const open = async (key: WrappedKey, algorithm: Algorithm): Promise<CryptoKey> => {
    const { importJWK } = await jose()
    const imported = await importJWK({ ...readPrivate(await unwrap(key)), ext: false }, algorithm)
    if (imported instanceof Uint8Array) throw new TypeError("a symmetric key signs nothing here")
    return imported
  }
  return (key: WrappedKey, algorithm: Algorithm): Promise<CryptoKey> => {
    const name = `${algorithm} ${key.wrapping.boundTo} ${key.wrapped}`
    const known = opened.get(name)
    if (known !== undefined) return known
    const made = open(key, algorithm)
    opened.set(name, made)
    made.catch(() => opened.delete(name))
    return made
  }
}

/** Where a platform knows no end of a turn, each goes on by itself. */
const afterTurn: (work: () => void) => unknown = typeof setImmediate === "function" ? setImmediate : queueMicrotask

let finished: Array<() => void> = []

const endTurn = () => {
  const settling = finished
  finished = []
  for (const settle of settling) settle()
}

const atTurnsEnd = (settle: () => void): void => {
  if (finished.push(settle) === 1) afterTurn(endTurn)
}

/**
 * What the platform's threads finish in one turn of the event loop goes on together, at its end: one after the other, the
 * rest of many requests takes half the time, and what they write leaves at once.
 */
const together = <A>(work: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    work.then(
      (value) => atTurnsEnd(() => resolve(value)),
      (fault: unknown) => atTurnsEnd(() => reject(fault))
    )
  })

const tried = <A>(reason: SignatureFault["reason"], task: () => Promise<A>): Effect.Effect<A, SignatureFault> =>
  Effect.tryPromise({ try: () => together(task()), catch: () => new SignatureFault({ reason }) })

/** By the package `jose`, which does the arithmetic by WebCrypto and depends on nothing. */
export const makeSignatures = (): Signatures["Service"] => {
  const keyOf = makeImports()
  const signingKey = makeSigningKeys()

  /** The first of the keys that made it. One promise for all of them: a fiber that waits costs as much as a hash. */
  const signedBy = async (jws: string, keys: ReadonlyArray<PublicKey>, algorithm: Algorithm): Promise<PublicKey> => {
    const { compactVerify } = await jose()
    const forgeries: Array<unknown> = []
    for (const key of keys) {
      try {
        await compactVerify(jws, await keyOf(key, algorithm), { algorithms: [algorithm] })
        return key
      } catch (thrown) {
        forgeries.push(thrown)
      }
    }
    throw new AggregateError(forgeries)
  }

  return {
    verify: (jws, keys, allowed) => {
      const read = typeof jws === "string" ? readJws(jws) : jws
      if (read === undefined) return fault("malformed")
      const { claims, header, text } = read satisfies UnverifiedJws
      const { alg, crit } = header
      // RFC 7515 §4.1.11: no extension is understood here. RFC 7797's `b64` has to be in `crit` too.
      if (crit !== undefined || header.b64 !== undefined) return fault("malformed")
      if (!isAlgorithm(alg) || !allowed.includes(alg)) return fault("algorithm")
      const fitting = candidates(keys, kidOf(header), alg)
      if (fitting.length === 0) return fault("no_key")
      return Effect.map(
        tried("forged", () => signedBy(text, fitting, alg)),
        (key) => ({ header, claims, key })
      )
    },
    makeKey: (algorithm, wrappingOf) => tried("failed", () => makePair(algorithm, wrappingOf)),
    rewrap: (key, wrapping) => tried("wrapped", async () => wrap(await unwrap(key), wrapping)),
    signer: (key, algorithm) =>
      Effect.map(
        tried("wrapped", () => signingKey(key, algorithm)),
        (signingKey): Signer =>
          (header, claims) =>
            tried("failed", async () => {
              const { CompactSign } = await jose()
              const signing = new CompactSign(utf8.encode(JSON.stringify(claims)))
              return signing.setProtectedHeader({ ...header, alg: algorithm }).sign(signingKey)
            })
      )
  }
}

export const layer: Layer.Layer<Signatures> = Layer.sync(Signatures, makeSignatures)
