import { Clock, Effect, Random } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { coalesce } from "../coalesce.ts"
import type { Connection } from "./Connection.ts"
import { type Transact, transactOn, type Write } from "./transact.ts"
import { endTurns } from "./turns.ts"

const milliseconds = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

const lockKept = (): StorageUnavailable =>
  new StorageUnavailable({ outcome: "not_done", message: "SQLite: another process kept the write lock" })

/** Waits for the lock without holding up the process. */
const patiently = Effect.fnUntraced(function* (transact: Transact, writes: ReadonlyArray<Write>, left: number) {
  const deadline = (yield* milliseconds) + left
  for (;;) {
    const answers = transact(writes)
    if (answers !== "busy") return answers
    if ((yield* milliseconds) >= deadline) return yield* lockKept()
    yield* Effect.sleep(yield* Random.nextIntBetween(1, 10))
  }
})

/**
 * Commits in groups: an fsync costs far more than a statement, so writes that arrive together share one. The driver
 * blocks the process while it commits, so they gather in the rounds before, for as long as each brings more: a lone
 * write waits for no company.
 */
export const groupCommit = (connection: Connection) => {
  const commit = transactOn(connection)
  const transact: Transact = (writes) => {
    endTurns()
    return commit(writes)
  }
  return coalesce<Write, number, StorageUnavailable>({
    run: (writes, left) =>
      Effect.suspend(() => {
        const answers = transact(writes)
        return answers === "busy" ? patiently(transact, writes, left) : Effect.succeed(answers)
      }),
    identity: () => "",
    sameIdentity: "together",
    leaves: "lull",
    size: 1000,
    underWay: 1,
    within: 5000,
    late: lockKept
  })
}
