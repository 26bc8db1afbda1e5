import { Effect, Exit, Option, Result } from "effect"
import { type RecordKey, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { LatelyRead, Read } from "../LatelyRead.ts"
import { pathOf, placeOf } from "./Place.ts"
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

/** A record's key, and that of Redis; and where records of its kind are read over and over, what was read of them. */
export interface Wanted {
  readonly key: RecordKey
  readonly record: string
  readonly lately?: LatelyRead<Read> | undefined
}

/** By one command; not for a cluster, where the keys would have to be in one slot. */
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

const readAs = ({ key, lately }: Wanted, text: unknown): Exit.Exit<Found, StorageUnavailable> => {
  if (typeof text !== "string") return nothing
  const read = parseValue(key, text, lately)
  return Result.isSuccess(read) ? Exit.succeed(Option.some(read.success)) : Exit.fail(read.failure)
}

/** Of what changes no record: whether it happened or not, nothing was done. */
export const notDone = (error: StorageUnavailable): StorageUnavailable =>
  error.outcome === "not_done" ? error : new StorageUnavailable({ outcome: "not_done", message: error.message })
