import { Result } from "effect"
import type { PublicKey } from "../ports/Signatures.ts"

/** A client rotates with two or three, and each may have to be tried. */
export const mostKeys = 32

/** `private_key`: somebody publishes what they sign with, so nothing that it signs proves anything. */
export type KeySetFault = "malformed" | "too_many" | "private_key"

/** RFC 7518 §6.2.2, 6.3.2, 6.4.1: the members that make a key private, or a secret. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const

/** RFC 7518 §6, 8037 §2: what a public key of each kind has. */
const membersOf: ReadonlyMap<unknown, ReadonlyArray<string>> = new Map([
  ["RSA", ["n", "e"]],
  ["EC", ["crv", "x", "y"]],
  ["OKP", ["crv", "x"]]
])

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isText = (value: unknown): value is string => typeof value === "string"

/** RFC 7517 §5: a key of an unknown kind, or one that lacks a member, is passed over; so is one for something else. */
const verifies = (key: unknown): key is PublicKey => {
  if (!isObject(key)) return false
  const members = membersOf.get(key.kty)
  if (members?.every((name) => isText(key[name])) !== true) return false
  if (key.kid !== undefined && !isText(key.kid)) return false
  if (key.use !== undefined && key.use !== "sig") return false
  return key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes("verify"))
}

/** A JWK Set (RFC 7517 §5), as parsed JSON: the public keys in it that signatures may be verified with. */
export const readKeySet = (set: unknown): Result.Result<ReadonlyArray<PublicKey>, KeySetFault> => {
  if (!isObject(set) || !Array.isArray(set.keys)) return Result.fail("malformed")
  const keys: ReadonlyArray<unknown> = set.keys
  if (keys.length > mostKeys) return Result.fail("too_many")
  const isPrivate = keys.some((key) => isObject(key) && privateMembers.some((name) => Object.hasOwn(key, name)))
  return isPrivate ? Result.fail("private_key") : Result.succeed(keys.filter(verifies))
}
