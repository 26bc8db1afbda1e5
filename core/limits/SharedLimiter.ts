import { Clock, Context, Effect, Layer, Schema } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { writeAll } from "../engine/lists.ts"
import { makeRecords, type RecordKind } from "../engine/Records.ts"
import { transactOrFail } from "../engine/transact.ts"
import { answerAndKeep } from "../grant/Decision.ts"
import { Entropy } from "../ports/Entropy.ts"
import { type Allowance, Limiter, type LimitKey } from "../ports/Limiter.ts"
import { Storage, type StorageUnavailable } from "../ports/Storage.ts"
import { clocksDiffer, Instant, instantOf } from "../rules/Instant.ts"
import { type Contended, TooManyRequests } from "../rules/Refusal.ts"
import { digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/**
 * For tables that are written to the store in their own order, up to the first that fails: the next time that one comes
 * last, so a single record that cannot be had keeps no other one waiting.
 */
export const moveToEnd = <V extends object>(table: LruMap<string, V>, name: string, value: V): void => {
  // What was replaced or dropped meanwhile is left as it is.
  if (table.get(name) !== value) return
  table.delete(name)
  table.set(name, value)
}

/** The bucket as processes tell it each other: when it will be full again, by the clock that showed `toldAt` then. */
const SharedBucket = Schema.Struct({ id: Schema.String, fullAt: Instant, toldAt: Schema.optionalKey(Instant) })
type SharedBucket = typeof SharedBucket.Type

export const limitKind: RecordKind<SharedBucket> = {
  kind: "limit",
  schema: SharedBucket,
  version: 1,
  upcast: [],
  id: (bucket) => bucket.id,
  owner: () => "limits",
  expiresAt: (bucket) => bucket.fullAt
}

interface Bucket {
  readonly workspace: WorkspaceId
  readonly id: string
  readonly allowance: Allowance
  /** When it will be full again; past or now: it is full. */
  fullAt: number
  /** What the clock showed when it was last looked at. */
  seenAt: number
  /** Taken here since the other processes last heard of it. */
  untold: number
}

/** More callers than this at once, and those heard of longest ago start afresh: half of them, when there is no more room. */
const bucketsKept = 100_000
/** Other processes need not hear of a caller that has not used this part of its burst. */
const worthTelling = 0.25

/** How far the clock was set back since it showed `before`. */
export const setBackBy = (before: number, now: number): number => Math.max(0, before - now)

/** The same, of a clock that showed another process `toldAt`: a difference that no two clocks have. */
export const toldBackBy = (toldAt: number, now: number): number => (toldAt - now > clocksDiffer ? toldAt - now : 0)

/** The same moment by a clock that shows `now`, where it showed more before: it was set back since. */
const setBack = (moment: number, before: number, now: number): number => moment - setBackBy(before, now)

const seen = (bucket: Bucket, now: Instant): void => {
  bucket.fullAt = setBack(bucket.fullAt, bucket.seenAt, now)
  bucket.seenAt = now
}

/** When it will be full again, by this clock, for all that other processes told. */
const heard = ({ fullAt, toldAt }: SharedBucket, now: Instant): number =>
  toldAt === undefined ? fullAt : fullAt - toldBackBy(toldAt, now)

/** Tells the other processes what was taken here, and hears what was taken there. To be run every second or so. */
export class LimitSharing extends Context.Service<
  LimitSharing,
  { readonly share: Effect.Effect<number, StorageUnavailable | Contended> }
>()("tessera/core/limits/LimitSharing") {}

/** Every caller is let in, and there is nothing to tell other processes. */
const noLimits = Layer.merge(Limiter.layerNone, Layer.succeed(LimitSharing, { share: Effect.succeed(0) }))

/** Limits, none, or so many times as much of everything. */
export type RateLimits = boolean | { readonly factor: number }

const leastFactor = 0.1
const mostFactor = 1000

export const limitFactorExpected = `a number from ${leastFactor} to ${mostFactor}`

export const isLimitFactor = (factor: unknown): factor is number =>
  typeof factor === "number" && factor >= leastFactor && factor <= mostFactor

/**
 * Token buckets in memory, so that no request waits for a store to be counted. Processes over one store tell each other
 * in the background, so a caller's share is one for all of them, but for what happens between two tellings.
 */
const sharedBy = Effect.fnUntraced(function* (factor: number) {
  const records = makeRecords(yield* Storage, limitKind)
  const entropy = yield* Entropy
  const clock = yield* Clock.Clock
  const buckets = new LruMap<string, Bucket>(bucketsKept)

  const bucketOf = (key: LimitKey): Bucket => {
    const name = `${key.workspace} ${key.allowance.name} ${key.of}`
    const known = buckets.get(name)
    if (known !== undefined) return known
    const { burst, refill, told } = key.allowance
    const made: Bucket = {
      workspace: key.workspace,
      id: `${key.allowance.name}:${digestOf(key.of)}`,
      // The burst takes as long to refill as ever, and is as many more.
      allowance: told ? key.allowance : { ...key.allowance, burst: burst * factor, refill: refill / factor },
      fullAt: 0,
      seenAt: 0,
      untold: 0
    }
    buckets.set(name, made)
    return made
  }

  const take = (key: LimitKey): Effect.Effect<void, TooManyRequests> => {
    const now = instantOf(clock)
    const bucket = bucketOf(key)
    seen(bucket, now)
    const { burst, refill, name } = bucket.allowance
    const next = Math.max(bucket.fullAt, now) + refill
    const over = next - now - burst * refill
    // Less than a millisecond is what the numbers were rounded by.
    if (over >= 1) {
      return Effect.fail(new TooManyRequests({ limit: name, retryAfterSeconds: Math.ceil(over / 1000) }))
    }
    bucket.fullAt = next
    bucket.untold += 1
    return Effect.void
  }

  const tell = Effect.fnUntraced(function* (bucket: Bucket, now: Instant) {
    const { refill } = bucket.allowance
    const { untold } = bucket
    // What was refilled since it was taken counts no more.
    const told = Math.max(0, Math.min(untold, (bucket.fullAt - now) / refill))
    const fullAt = yield* transactOrFail(records, entropy, bucket.workspace, bucket.id, (known) => {
      // Whole milliseconds, which is what an Instant is.
      const fullAt = Math.ceil(Math.max(known === undefined ? 0 : heard(known, now), now) + told * refill) as Instant
      return answerAndKeep({ id: bucket.id, fullAt, toldAt: now }, fullAt)
    })
    bucket.untold -= untold
    bucket.fullAt = Math.max(bucket.fullAt, setBack(fullAt, now, bucket.seenAt))
  })

  const share = Effect.clockWith((clock) => {
    const now = instantOf(clock)
    const toTell: Array<readonly [name: string, bucket: Bucket]> = []
    for (const entry of [...buckets]) {
      const [name, bucket] = entry
      seen(bucket, now)
      const used = bucket.fullAt - now
      if (used <= 0) buckets.delete(name)
      else if (bucket.untold > 0 && used >= worthTelling * bucket.allowance.burst * bucket.allowance.refill)
        toTell.push(entry)
    }
    return writeAll(
      toTell,
      ([, bucket]) => tell(bucket, now),
      ([name, bucket]) => moveToEnd(buckets, name, bucket)
    )
  })

  return Context.make(Limiter, { take }).pipe(Context.add(LimitSharing, { share }))
})

export const layer = Layer.effectContext(sharedBy(1))

/** The limits as a setting says them. A factor leaves what slows down guessing at passwords, and devices, as it is. */
export const limitsOf = (limits: RateLimits) => {
  if (limits === false) return noLimits
  return limits === true ? layer : Layer.effectContext(sharedBy(limits.factor))
}
