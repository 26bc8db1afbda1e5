import { Schema } from "effect"
import { clocksMayDiffer, day, hasPassed, Instant, later, type Millis, minute } from "../rules/Instant.ts"
import { Algorithm, PublicKey } from "../rules/Jwk.ts"
import { Issuer, WorkspaceId } from "../workspace/Workspace.ts"
import type { RecordKind } from "./Records.ts"

const SigningKey = Schema.Struct({
  /** RFC 7638. */
  kid: Schema.String,
  algorithm: Algorithm,
  publicKey: PublicKey,
  /** The private part, encrypted under a key that is derived from the seal key of this id. */
  wrapped: Schema.Struct({ by: Schema.String, text: Schema.String }),
  madeAt: Instant,
  /** Until a younger one of its algorithm does. */
  signsFrom: Instant,
  /** The longest life of what it signed: for so long after its last signature it is published. */
  life: Schema.Int
})
export type SigningKey = typeof SigningKey.Type

/** The keys that a workspace signs with: those of next time, of now, and those that signed what still lives. */
export const SigningKeys = Schema.Struct({
  id: WorkspaceId,
  /** No process signs with keys of an issuer that the workspace has no more. */
  issuer: Issuer,
  /** By `signsFrom`, the oldest first. */
  keys: Schema.Array(SigningKey)
})
export type SigningKeys = typeof SigningKeys.Type

export const signingKind: RecordKind<SigningKeys> = {
  kind: "signing",
  schema: SigningKeys,
  version: 1,
  upcast: [],
  id: ({ id }) => id,
  owner: () => "workspace",
  expiresAt: () => null
}

/** How long others may keep the published keys. */
export const publishedFor: Millis = 5 * minute

/** For so long a next key is published before it signs: some keep what they were told for twice as long. */
export const publishedAhead: Millis = 15 * minute

/** After so long a key makes way for another. */
export const signsFor: Millis = 90 * day

/** An application signs its person out by an ID token that it was given long ago: for so long its key is kept, untold. */
export const keptForHints: Millis = 30 * day

/** When a key signs no more: once the next one of its algorithm does. `undefined`: not known yet. */
const signsUntil = ({ keys }: SigningKeys, { algorithm, signsFrom }: SigningKey): Instant | undefined =>
  keys.find((other) => other.algorithm === algorithm && other.signsFrom > signsFrom)?.signsFrom

/** From when on nothing that a key signed is good any more. */
export const goneAt = (keys: SigningKeys, key: SigningKey): Instant | undefined => {
  const until = signsUntil(keys, key)
  return until === undefined ? undefined : later(until, key.life + clocksMayDiffer)
}

const isNeeded = (keys: SigningKeys, key: SigningKey, now: Instant, longer: Millis = 0): boolean => {
  const gone = goneAt(keys, key)
  return gone === undefined || !hasPassed(later(gone, longer), now)
}

/** Some of a workspace's keys, by the time. */
export type KeysAt = (keys: SigningKeys, now: Instant) => ReadonlyArray<SigningKey>

/** What is published: keys that sign, that will, and that signed what may still live. */
export const publishedAt: KeysAt = (keys, now) => keys.keys.filter((key) => isNeeded(keys, key, now))

/** These, and those by which the server itself still knows an ID token that comes back as a hint. */
export const keptAt: KeysAt = (keys, now) => keys.keys.filter((key) => isNeeded(keys, key, now, keptForHints))

/** The key that signs now by this algorithm. */
export const signingAt = ({ keys }: SigningKeys, algorithm: Algorithm, now: Instant): SigningKey | undefined =>
  keys.findLast((key) => key.algorithm === algorithm && hasPassed(key.signsFrom, now))

type SigningState = "next" | "current" | "retired"

export const stateAt = (keys: SigningKeys, key: SigningKey, now: Instant): SigningState => {
  if (!hasPassed(key.signsFrom, now)) return "next"
  return signingAt(keys, key.algorithm, now) === key ? "current" : "retired"
}

const algorithmsOf = ({ keys }: SigningKeys): ReadonlyArray<Algorithm> => [
  ...new Set(keys.map(({ algorithm }) => algorithm))
]

/** The algorithms whose youngest key has signed for long enough. */
export const dueAt = (keys: SigningKeys, now: Instant): ReadonlyArray<Algorithm> =>
  algorithmsOf(keys).filter((algorithm) => {
    const youngest = keys.keys.findLast((key) => key.algorithm === algorithm)
    return youngest !== undefined && hasPassed(later(youngest.signsFrom, signsFor), now)
  })

/** The algorithms for which no key waits yet. */
export const withoutNext = (keys: SigningKeys, now: Instant): ReadonlyArray<Algorithm> =>
  algorithmsOf(keys).filter(
    (algorithm) => !keys.keys.some((key) => key.algorithm === algorithm && stateAt(keys, key, now) === "next")
  )

/** A key that was just made, and that no record has yet. */
export type DrawnKey = Omit<SigningKey, "life" | "madeAt" | "signsFrom">

const made = (drawn: DrawnKey, life: Millis, now: Instant, signsFrom: Instant): SigningKey => ({
  ...drawn,
  life,
  madeAt: now,
  signsFrom
})

/** With one key more, and without those that are not needed. */
const grown = (keys: SigningKeys, key: SigningKey, now: Instant): SigningKeys => {
  const all = { ...keys, keys: [...keys.keys, key].sort((a, b) => a.signsFrom - b.signsFrom) }
  return { ...all, keys: keptAt(all, now) }
}

/**
 * With a key that signs now what lives so long; the same keys where there is one. The first of its algorithm signs at
 * once, since there is no other: who keeps the keys of before has to fetch them anew. `undefined`: it takes a new one, and
 * none was drawn.
 */
export const readyFor = (
  keys: SigningKeys,
  algorithm: Algorithm,
  life: Millis,
  drawn: DrawnKey | undefined,
  now: Instant
): SigningKeys | undefined => {
  const current = signingAt(keys, algorithm, now)
  if (current === undefined) return drawn === undefined ? undefined : grown(keys, made(drawn, life, now, now), now)
  if (current.life >= life) return keys
  const longer = (key: SigningKey): SigningKey => (key.kid === current.kid ? { ...key, life } : key)
  return { ...keys, keys: keys.keys.map(longer) }
}

/** With a next key where none waits: it has been published when it begins to sign. */
export const rotated = (keys: SigningKeys, drawn: DrawnKey, now: Instant): SigningKeys => {
  const { algorithm } = drawn
  if (!withoutNext(keys, now).includes(algorithm)) return keys
  // What it signs lives as long as what the one before signed.
  const life = signingAt(keys, algorithm, now)?.life ?? 0
  return grown(keys, made(drawn, life, now, later(now, publishedAhead)), now)
}

/** Without the keys that are not needed; the same where there are none. */
export const tidied = (keys: SigningKeys, now: Instant): SigningKeys => {
  const needed = keptAt(keys, now)
  return needed.length === keys.keys.length ? keys : { ...keys, keys: needed }
}

export type Retirement = "retired" | "unknown" | "signs" | "is_needed"

/**
 * Without a key. What it signed has to stay verifiable, so one that signs stays, and so does one that is about to: a
 * process may have read of it a moment ago, and not of its end.
 */
export const retire = (
  keys: SigningKeys,
  kid: string,
  now: Instant
): { readonly keys: SigningKeys; readonly outcome: Retirement } => {
  const key = keys.keys.find((one) => one.kid === kid)
  if (key === undefined) return { keys, outcome: "unknown" }
  const state = stateAt(keys, key, now)
  const isAboutTo = hasPassed(key.signsFrom, later(now, clocksMayDiffer))
  if (state === "current" || (state === "next" && isAboutTo)) return { keys, outcome: "signs" }
  if (state === "retired" && isNeeded(keys, key, now)) return { keys, outcome: "is_needed" }
  return { keys: { ...keys, keys: keys.keys.filter((one) => one !== key) }, outcome: "retired" }
}

/**
 * Without a key that others may have: what it signed fails from now on at every reader that fetches the keys. One that
 * signs has the drawn one in its place at once, which nobody was told of before.
 */
export const withdrawn = (
  keys: SigningKeys,
  kid: string,
  drawn: DrawnKey | undefined,
  now: Instant
): { readonly keys: SigningKeys; readonly outcome: "retired" | "unknown" | "signs" } => {
  const key = keys.keys.find((one) => one.kid === kid)
  if (key === undefined) return { keys, outcome: "unknown" }
  const rest = { ...keys, keys: keys.keys.filter((one) => one !== key) }
  if (stateAt(keys, key, now) !== "current") return { keys: rest, outcome: "retired" }
  return drawn?.algorithm === key.algorithm
    ? { keys: grown(rest, made(drawn, key.life, now, now), now), outcome: "retired" }
    : { keys, outcome: "signs" }
}
