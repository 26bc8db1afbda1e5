import { Effect, Exit } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { type Coalescing, coalesce } from "../coalesce.ts"
import type { Deadline, Wire } from "./Wire.ts"

/** A verb of the port for several at once, by one command. */
export interface Several<Item, A, E> extends Pick<Coalescing<Item, A, E>, "identity" | "sameIdentity"> {
  readonly send: (
    items: ReadonlyArray<Item>,
    deadline: Deadline
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E | StorageUnavailable>>, StorageUnavailable>
}

export interface Gathering {
  /** A command may be about several records. */
  readonly several: boolean
  readonly deadlineMillis: number
  readonly maximumWaiting: number
}

/** A larger batch saves little more, and a script holds up everything else on its server. */
const batchSize = 64
const batchesUnderWay = 1

/** Calls that meet, as one command; or each alone. */
export const together = <Item, A, E>(
  wire: Pick<Wire, "deadline" | "tooBusy">,
  { deadlineMillis, maximumWaiting, several }: Gathering,
  { identity, sameIdentity, send }: Several<Item, A, E>
): Effect.Effect<(item: Item) => Effect.Effect<A, E | StorageUnavailable>> =>
  several
    ? coalesce<Item, A, E | StorageUnavailable>({
        run: (items, left) => send(items, performance.now() + left),
        identity,
        sameIdentity,
        size: batchSize,
        underWay: batchesUnderWay,
        within: deadlineMillis,
        mostWaiting: maximumWaiting,
        late: wire.tooBusy
      })
    : Effect.succeed((item: Item) =>
        Effect.flatMap(
          Effect.suspend(() => send([item], wire.deadline())),
          ([answer]) => answer ?? unanswered
        )
      )

const unanswered = Exit.die(new Error("a call was left without an answer"))
