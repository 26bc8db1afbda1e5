import { Clock, Effect, Option } from "effect"
import type { Listing, Page, StorageUnavailable, StoredRecord } from "../../core/ports/Storage.ts"
import { fetchRecord, notDone } from "./fetchRecord.ts"
import { afterId, bornAt, type Line, parseLine } from "./OwnerEntry.ts"
import { ownerKey } from "./Place.ts"
import type { Deadline, Wire } from "./Wire.ts"

/** At least so many lines a time, so that a list of many stale lines does not take as many round trips. */
const smallestBatch = 16

/**
 * A page of an owner's list. A line counts if its record exists and says that this line stands for it; other lines
 * that are old enough are struck.
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

const recordOf = (wire: Wire, prefix: string, { workspace, kind }: Listing, { id, entry }: Line, deadline: Deadline) =>
  Effect.map(fetchRecord(wire, prefix, { workspace, kind, id }, deadline), (found) =>
    Option.map(
      Option.filter(found, (stored) => stored.entry === entry),
      ({ record }) => record
    )
  )

/** Strikes lines whose records are gone. That it failed is no failure: the list is read through its records. */
export const strike = (
  wire: Wire,
  list: string,
  lines: ReadonlyArray<string>,
  deadline: Deadline
): Effect.Effect<void> => Effect.ignore(wire.ask("zrem", [list, ...lines], deadline))
