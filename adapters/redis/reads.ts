import { Clock, Effect, Exit, Option, Result } from "effect"
import {
  type Listing,
  type Page,
  type RecordKey,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import type { ParseCache } from "../records/ParseCache.ts"
import { afterId, bornAt, type Line, ownerKey, parseLine, pathOf, placeOf } from "./RecordPlace.ts"
import { parseValue, type StoredValue } from "./StoredValue.ts"
import type { Deadline, Wire } from "./Wire.ts"

type Found = Option.Option<StoredValue>
type Asking = Pick<Wire, "ask">

export const fetchRecord = (
  wire: Asking,
  prefix: string,
  key: RecordKey,
  deadline: Deadline
): Effect.Effect<Found, StorageUnavailable> =>
  fetchAt(wire, { key, record: placeOf(prefix, pathOf(key)).record }, deadline)

const fetchAt = (wire: Asking, wanted: Wanted, deadline: Deadline) =>
  Effect.matchEffect(wire.ask("get", [wanted.record], deadline), {
    onFailure: (error) => Effect.fail(notDone(error)),
    onSuccess: (text) => readAs(wanted, text)
  })

/** A record's key, its Redis key, and the cache of its kind. */
export interface Wanted {
  readonly key: RecordKey
  readonly record: string
  readonly cache?: ParseCache | undefined
}

/** One command for all; a cluster would need the keys in one slot. */
export const fetchRecords = (
  wire: Asking,
  wanted: ReadonlyArray<Wanted>,
  deadline: Deadline
): Effect.Effect<ReadonlyArray<Exit.Exit<Found, StorageUnavailable>>, StorageUnavailable> => {
  const [first] = wanted
  if (first !== undefined && wanted.length === 1) {
    return Effect.map(fetchAt(wire, first, deadline), (found) => [Exit.succeed(found)])
  }
  const records = wanted.map(({ record }) => record)
  return Effect.mapBoth(wire.ask("mget", records, deadline), {
    onFailure: notDone,
    onSuccess: (texts) => wanted.map((each, at) => readAs(each, Array.isArray(texts) ? texts[at] : undefined))
  })
}

const nothing = Exit.succeed<Found>(Option.none())

const readAs = ({ cache, key }: Wanted, text: unknown): Exit.Exit<Found, StorageUnavailable> => {
  if (typeof text !== "string") return nothing
  const read = parseValue(key, text, cache)
  return Result.isSuccess(read) ? Exit.succeed(Option.some(read.success)) : Exit.fail(read.failure)
}

/** For commands that change no record: every failure is `not_done`. */
export const notDone = (error: StorageUnavailable): StorageUnavailable =>
  error.outcome === "not_done" ? error : new StorageUnavailable({ outcome: "not_done", message: error.message })

/** A minimum, so that a list with many stale lines takes few round trips. */
const smallestBatch = 16

/**
 * A page of an owner's list. A line counts if its record exists and names that line; older lines are stale and are
 * struck.
 */
export const listOwned = Effect.fnUntraced(function* (
  wire: Wire,
  { prefix, staleAfterMillis }: { readonly prefix: string; readonly staleAfterMillis: number },
  listing: Listing
): Effect.fn.Return<Page, StorageUnavailable> {
  const deadline = wire.deadline()
  const now = yield* Clock.currentTimeMillis
  const list = ownerKey(prefix, listing)
  const records: Array<StoredRecord> = []
  let from = listing.after === undefined ? "-" : `[${afterId(listing.after)}`

  // One more than asked for, to know whether a page follows.
  while (records.length <= listing.limit) {
    const batch = Math.max(listing.limit + 1 - records.length, smallestBatch)
    const lines = (yield* rangeOf(wire, list, from, batch, deadline)).map(parseLine)
    const found = yield* Effect.forEach(lines, (line) => recordOf(wire, prefix, listing, line, deadline), {
      concurrency: "unbounded"
    })
    records.push(...found.flatMap(Option.toArray))

    const stale = lines.filter((line, at) => {
      const missing = Option.isNone(found[at] ?? Option.none())
      return missing && bornAt(line.entry) + staleAfterMillis <= now
    })
    if (stale.length > 0)
      yield* strike(
        wire,
        list,
        stale.map(({ text }) => text),
        deadline
      )

    const last = lines.at(-1)
    if (last === undefined || lines.length < batch) break
    from = `(${last.text}`
  }

  const page = records.slice(0, listing.limit)
  return { records: page, next: records.length > listing.limit ? page.at(-1)?.id : undefined }
})

const rangeOf = (wire: Wire, list: string, from: string, limit: number, deadline: Deadline) =>
  Effect.mapBoth(wire.ask("zrangebylex", [list, from, "+", "LIMIT", 0, limit], deadline), {
    onFailure: notDone,
    onSuccess: (lines) => (Array.isArray(lines) ? lines.map(String) : [])
  })

/** Reads a record, and then waits until that is where it has to be: what was written meanwhile may have been read. */
export const onceSettled = <A>(
  wire: Wire,
  record: string,
  read: Effect.Effect<A, StorageUnavailable>
): Effect.Effect<A, StorageUnavailable> => {
  const { settled } = wire
  if (settled === undefined) return read
  return Effect.suspend(() => {
    const losses = wire.losses()
    return Effect.flatMap(read, (found) => {
      const settling = settled(record)
      if (settling === undefined) return Effect.succeed(found)
      // Another connection may be to another master, which has something else there.
      return Effect.flatMap(settling, () =>
        wire.losses() === losses ? Effect.succeed(found) : onceSettled(wire, record, read)
      )
    })
  })
}

const recordOf = (
  wire: Wire,
  prefix: string,
  { workspace, kind }: Listing,
  { id, entry }: Line,
  deadline: Deadline
) => {
  const key = { workspace, kind, id }
  const { record } = placeOf(prefix, pathOf(key))
  return Effect.map(onceSettled(wire, record, fetchAt(wire, { key, record }, deadline)), (found) =>
    Option.map(
      Option.filter(found, (stored) => stored.entry === entry),
      ({ record }) => record
    )
  )
}

/** Strikes lines without records. A failure is ignored, because reads check each record anyway. */
export const strike = (
  wire: Wire,
  list: string,
  lines: ReadonlyArray<string>,
  deadline: Deadline
): Effect.Effect<void> => Effect.ignore(wire.ask("zrem", [list, ...lines], deadline))
