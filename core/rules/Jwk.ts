import { Option, Result, Schema } from "effect"
import { readBase64Url } from "../codec/Base64Url.ts"
import { digestOf } from "./Secret.ts"

/** RFC 7518 §3.1, 8037, 9864: no symmetric algorithm, so no public key's bytes can be a secret, and never `none`. */
export const algorithms = ["EdDSA", "Ed25519", "ES256", "PS256", "RS256"] as const
export const Algorithm = Schema.Literals(algorithms)
export type Algorithm = typeof Algorithm.Type

export const isAlgorithm = Schema.is(Algorithm)

/** RFC 9864 §2.2: two names of one algorithm, of which the older stands for other curves too. Here it never does. */
export const sameAlgorithm = (one: Algorithm, other: Algorithm): boolean => generic(one) === generic(other)

const generic = (algorithm: Algorithm) => (algorithm === "Ed25519" ? "EdDSA" : algorithm)

const Part = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]+$/), Schema.isMaxLength(700))

const common = {
  kid: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))),
  alg: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(32))),
  use: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(32))),
  key_ops: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isMaxLength(32))).check(Schema.isMaxLength(8)))
}

const isLong =
  (least: number, most: number) =>
  (text: string): boolean => {
    const length = readBase64Url(text)?.length ?? 0
    return length >= least && length <= most
  }

const coordinate = Part.check(Schema.makeFilter(isLong(32, 32), { expected: "32 bytes" }))

/** From 2048 to 4096 bits: shorter ones are broken, and longer ones are a stranger's way to make us calculate. */
const modulus = Part.check(Schema.makeFilter(isLong(256, 512), { expected: "2048 to 4096 bits" }))

/** A large exponent makes each verification as slow as a signature. */
const exponent = Part.check(Schema.makeFilter(isLong(1, 4), { expected: "at most 32 bits" }))

/** The public keys that a signature may be made by (RFC 7517, RFC 7518 §6, RFC 8037 §2). */
export const PublicKey = Schema.Union([
  Schema.Struct({ kty: Schema.Literal("EC"), crv: Schema.Literal("P-256"), x: coordinate, y: coordinate, ...common }),
  Schema.Struct({ kty: Schema.Literal("OKP"), crv: Schema.Literal("Ed25519"), x: coordinate, ...common }),
  Schema.Struct({ kty: Schema.Literal("RSA"), n: modulus, e: exponent, ...common })
])
export type PublicKey = typeof PublicKey.Type

/** RFC 7638 §3.2: what a key's thumbprint is made of. Two texts are the same for the same key, and for no other. */
export const keyMaterial = (key: PublicKey): string => {
  switch (key.kty) {
    case "EC":
      return `EC ${key.x} ${key.y}`
    case "OKP":
      return `OKP ${key.x}`
    case "RSA":
      return `RSA ${key.e} ${key.n}`
  }
}

/** RFC 7638 §3: the SHA-256 of the members that make the key what it is, in the order of their names. */
export const thumbprint = (key: PublicKey): string => {
  switch (key.kty) {
    case "EC":
      return digestOf(JSON.stringify({ crv: key.crv, kty: key.kty, x: key.x, y: key.y }))
    case "OKP":
      return digestOf(JSON.stringify({ crv: key.crv, kty: key.kty, x: key.x }))
    case "RSA":
      return digestOf(JSON.stringify({ e: key.e, kty: key.kty, n: key.n }))
  }
}

const familyOf: Readonly<Record<Algorithm, PublicKey["kty"]>> = {
  EdDSA: "OKP",
  Ed25519: "OKP",
  ES256: "EC",
  PS256: "RSA",
  RS256: "RSA"
}

const maySign = ({ key_ops, use }: PublicKey): boolean =>
  (use === undefined || use === "sig") && (key_ops === undefined || key_ops.includes("verify"))

/** RFC 7517 §4: whether a signature of this algorithm may be this key's, by what the key says of itself. */
export const fitsAlgorithm = (key: PublicKey, algorithm: Algorithm): boolean => {
  const { alg } = key
  const named = alg === undefined || (isAlgorithm(alg) && sameAlgorithm(alg, algorithm))
  return named && key.kty === familyOf[algorithm] && maySign(key)
}

/** Whether there is a key among these by which somebody may sign by one of these algorithms. */
export const someFits = (keys: ReadonlyArray<PublicKey>, taken: ReadonlyArray<Algorithm>): boolean =>
  keys.some((key) => taken.some((one) => fitsAlgorithm(key, one)))

/** Each is tried, so there are few: those of two rotations at once. */
const mostTried = 4

/** The keys of a set that may have made a signature: where it names one by `kid`, no other. */
export const candidates = (
  keys: ReadonlyArray<PublicKey>,
  kid: string | undefined,
  algorithm: Algorithm
): ReadonlyArray<PublicKey> =>
  keys.filter((key) => fitsAlgorithm(key, algorithm) && (kid === undefined || key.kid === kid)).slice(0, mostTried)

/** RFC 7518 §6: members of which one makes a key a secret. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

/** Those of two rotations at once, for each of several programs of one client. */
const mostKeys = 20

const JwkSet = Schema.Struct({
  keys: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)).check(Schema.isMaxLength(mostKeys))
})

const readSet = Schema.decodeUnknownOption(JwkSet)
const readKey = Schema.decodeUnknownOption(PublicKey)

/** `private_key`: a set that tells a secret is no set to trust, even where another of its keys would do. */
export type JwkSetFault = "malformed" | "private_key"

const secretIn = (key: unknown): string | undefined =>
  typeof key === "object" && key !== null ? privateMembers.find((name) => Object.hasOwn(key, name)) : undefined

const holdsSecret = (key: object): boolean => secretIn(key) !== undefined

/** The first private key of a set, also of one that is malformed, and the member that makes it a secret. */
export const privateKeyIn = (set: unknown): { readonly index: number; readonly member: string } | undefined => {
  const keys: unknown = typeof set === "object" && set !== null && "keys" in set ? set.keys : undefined
  if (!Array.isArray(keys)) return undefined
  const index = keys.findIndex((key) => secretIn(key) !== undefined)
  const member = secretIn(keys[index])
  return member === undefined ? undefined : { index, member }
}

/** A public key by itself (RFC 7517 §4), and nothing that has to be kept. */
export const readPublicKey = (jwk: unknown): Result.Result<PublicKey, JwkSetFault> => {
  if (typeof jwk !== "object" || jwk === null) return Result.fail("malformed")
  if (holdsSecret(jwk)) return Result.fail("private_key")
  return Result.fromOption(readKey(jwk), () => "malformed" as const)
}

/** The keys of a JWK Set (RFC 7517 §5) that can be used here. Keys of other kinds are passed over. */
export const readJwkSet = (set: unknown): Result.Result<ReadonlyArray<PublicKey>, JwkSetFault> => {
  const read = readSet(set)
  if (Option.isNone(read)) return Result.fail("malformed")
  const { keys } = read.value
  if (keys.some(holdsSecret)) return Result.fail("private_key")
  return Result.succeed(keys.flatMap((key) => Option.toArray(readKey(key))))
}
