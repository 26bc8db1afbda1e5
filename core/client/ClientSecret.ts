import { Result, Schema } from "effect"
import { day, hasPassed, Instant, later, type Millis } from "../rules/Instant.ts"
import { type Credential, Digest, digestOf, isDigestOf } from "../rules/Secret.ts"
import type { Client } from "./Client.ts"

/**
 * What the record keeps of a client that has a secret (RFC 6749 §2.3.1). Both ways to show a secret share it, so a
 * client may use either, whichever it registered.
 */
export const StoredSecret = Schema.Struct({
  _tag: Schema.Literal("Secret"),
  method: Schema.Literals(["client_secret_basic", "client_secret_post"]),
  digest: Digest,
  /** The one before, which works beside it until its end, so that a client changes over without a gap. */
  older: Schema.optionalKey(Schema.Struct({ digest: Digest, until: Instant }))
})
export type StoredSecret = typeof StoredSecret.Type

export const isSecret = Schema.is(StoredSecret)

/** The digest of the client's secret, the newer one of two; a public client has none, nor has one that signs. */
export const secretDigest = ({ credential: { _tag, digest } }: Client): string | undefined =>
  _tag === "Secret" && typeof digest === "string" ? digest : undefined

/** RFC 7592 §2.2: a client that is registered anew keeps the secrets that it has: a lost answer would lock it out. */
export const registerSecret = (
  method: StoredSecret["method"],
  drawn: Credential,
  kept: StoredSecret | undefined
): StoredSecret => (kept === undefined ? { _tag: "Secret", method, digest: drawn.digest } : { ...kept, method })

const markLength = 8

/** A secret as lists and audit events tell it: a part of its digest, which is no way to it. */
export const secretMark = (digest: string): string => digest.slice(0, markLength)

/** Compared against where there is no secret, so that none, one and two take the same steps. */
const nobody: Digest = digestOf("")

/** `older`: by the one whose end is near. */
export type ShownSecret = "wrong" | "current" | "older"

export const whichSecret = (hash: Uint8Array, stored: StoredSecret | undefined, now: Instant): ShownSecret => {
  const isCurrent = isDigestOf(hash, stored?.digest ?? nobody)
  const isOlder = isDigestOf(hash, stored?.older?.digest ?? nobody)
  if (stored === undefined) return "wrong"
  if (isCurrent) return "current"
  return isOlder && stored.older !== undefined && !hasPassed(stored.older.until, now) ? "older" : "wrong"
}

/** A secret that works, as an owner sees it. */
export interface LiveSecret {
  readonly mark: string
  /** `null`: until it is replaced. */
  readonly until: Instant | null
}

/** The newer one first. */
export const liveSecrets = ({ credential }: Client, now: Instant): ReadonlyArray<LiveSecret> => {
  if (!isSecret(credential)) return []
  const { digest, older } = credential
  const current = { mark: secretMark(digest), until: null }
  return older === undefined || hasPassed(older.until, now)
    ? [current]
    : [current, { mark: secretMark(older.digest), until: older.until }]
}

/** Longer than any change-over; a client that needs more makes the change again. */
export const longestKept: Millis = 90 * day

const whyNone = {
  no_secret: "This client has no secret: it is public, or it signs.",
  two: "Two secrets of this client work already: drop one first.",
  kept_too_long: `A secret is kept for ${longestKept / day} days at most.`
}

export class SecretRefused extends Schema.TaggedError<SecretRefused>()("SecretRefused", {
  /** `no_secret`: the client proves itself otherwise, or not at all. `two`: one of two has to end first. */
  reason: Schema.Literals(["no_secret", "two", "kept_too_long"])
}) {
  override get message(): string {
    return whyNone[this.reason]
  }
}

/** The client with a new secret. The one that it has works for as long as it is kept, or ends now. */
export const withNewSecret = (
  client: Client,
  drawn: Credential,
  keepFor: Millis,
  now: Instant
): Result.Result<Client, SecretRefused> => {
  const { credential } = client
  if (!isSecret(credential)) return Result.fail(new SecretRefused({ reason: "no_secret" }))
  if (!(keepFor >= 0 && keepFor <= longestKept)) return Result.fail(new SecretRefused({ reason: "kept_too_long" }))
  if (liveSecrets(client, now).length === 2) return Result.fail(new SecretRefused({ reason: "two" }))
  const { digest, method } = credential
  const older = { digest, until: later(now, Math.floor(keepFor)) }
  const next: StoredSecret = { _tag: "Secret", method, digest: drawn.digest, ...(keepFor >= 1 ? { older } : {}) }
  return Result.succeed({ ...client, credential: next })
}

/** One of two secrets that work. */
export type OfTwo = "older" | "newer"

/** The client without one of its two secrets, where both work. The other one goes on for good. */
export const withoutSecret = (client: Client, which: OfTwo, now: Instant): Client => {
  const { credential } = client
  if (!isSecret(credential) || liveSecrets(client, now).length < 2) return client
  const { older, ...newer } = credential
  const digest = which === "newer" ? older?.digest : newer.digest
  return digest === undefined ? client : { ...client, credential: { ...newer, digest } }
}
