import { Effect, Exit } from "effect"
import { Conflict, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Place } from "./Place.ts"
import { replaceScript } from "./scripts.ts"
import type { Deadline, Wire } from "./Wire.ts"

export interface Replacement {
  readonly place: Place
  /** As the script wants them: the expected version, expiresAt, lifetime, body. */
  readonly args: readonly [string, string, string, string]
}

type Replaced = Exit.Exit<void, Conflict | StorageUnavailable>

/** Compares and sets, in their order, in one step of the server's; on a cluster they have to be of one shard. */
export const replaceRecords = (
  wire: Wire,
  replacements: ReadonlyArray<Replacement>,
  deadline: Deadline
): Effect.Effect<ReadonlyArray<Replaced>, StorageUnavailable> =>
  Effect.map(
    wire.run(
      replaceScript,
      replacements.flatMap(({ place }) => [place.record, place.shard]),
      replacements.flatMap(({ args }) => args),
      deadline
    ),
    (answer) => replacements.map((_, at) => (typeof answer === "string" ? meaningOf(answer[at]) : unreadable))
  )

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
