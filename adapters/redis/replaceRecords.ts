import { Effect, Exit } from "effect"
import { Conflict, type NewRecord, StorageUnavailable } from "../../core/ports/Storage.ts"
import { pathOf, placeOf } from "./Place.ts"
import { expiryText } from "./StoredValue.ts"
import { replaceScript } from "./scripts.ts"
import type { Deadline, Wire } from "./Wire.ts"

export interface Replacement {
  readonly expected: number
  readonly record: NewRecord
  /** In ms, as the script wants it. */
  readonly lifetime: string
}

type Replaced = Exit.Exit<void, Conflict | StorageUnavailable>

/**
 * Compares and sets, in their order, in one step of the server's; on a cluster they have to be of one shard. All are put
 * into words here, one after the other, which takes a processor less than doing so as each call comes.
 */
export const replaceRecords = (
  wire: Pick<Wire, "run">,
  prefix: string,
  replacements: ReadonlyArray<Replacement>,
  deadline: Deadline
): Effect.Effect<ReadonlyArray<Replaced>, StorageUnavailable> => {
  const keys: Array<string> = []
  const args: Array<string> = []
  for (const { expected, lifetime, record } of replacements) {
    const place = placeOf(prefix, pathOf(record))
    keys.push(place.record, place.shard)
    args.push(`${expected}`, expiryText(record.expiresAt), lifetime, JSON.stringify(record.body))
  }
  return Effect.map(wire.run(replaceScript, keys, args, deadline), (answer) =>
    replacements.map((_, at) => (typeof answer === "string" ? meaningOf(answer[at]) : unreadable))
  )
}

const meaningOf = (letter: string | undefined): Replaced => {
  switch (letter) {
    case "1":
      return Exit.void
    case "0":
      return conflict
    case "E":
      return inTheWay
    default:
      return unreadable
  }
}

const conflict = Exit.fail(new Conflict())
const inTheWay = Exit.fail(
  new StorageUnavailable({
    outcome: "not_done",
    message: "Redis holds something else where a record or an index belongs"
  })
)
const unreadable = Exit.fail(
  new StorageUnavailable({ outcome: "unknown", message: "Redis gave an answer to a script that is not the script's" })
)
