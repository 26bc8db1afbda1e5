import { Clock, Effect, Exit, Random } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { coalesce } from "../batching/coalesce.ts"
import { detectBursts } from "../batching/detectBursts.ts"
import { type Connection, commitFailed, isBusy, notDone, rollback } from "./Connection.ts"
import type { Write } from "./RecordTable.ts"
import { endTurns } from "./reads.ts"

type Answer = Exit.Exit<number, StorageUnavailable>

/** `busy`: another connection holds the write lock, and nothing was written. */
type Transact = (writes: ReadonlyArray<Write>) => "busy" | ReadonlyArray<Answer>

/** Runs all writes in one transaction, in order, each with its own answer. Throws nothing. */
export const transactOn = (connection: Connection): Transact => {
  const begin = connection.prepare("BEGIN IMMEDIATE")
  const commit = connection.prepare("COMMIT")

  const transact: Transact = (writes) => {
    const all = (answer: Answer) => writes.map(() => answer)
    try {
      connection.assertNotReplaced()
      begin.run()
    } catch (thrown) {
      return isBusy(connection, thrown) ? "busy" : all(Exit.fail(notDone(thrown)))
    }

    const changed: Array<Answer> = []
    try {
      for (const write of writes) changed.push(Exit.succeed(write()))
    } catch (thrown) {
      rollback(connection)
      return writes.length === 1 ? all(Exit.fail(notDone(thrown))) : writes.flatMap(alone)
    }

    try {
      commit.run()
      return changed
    } catch (thrown) {
      rollback(connection)
      return all(Exit.fail(commitFailed(connection, thrown)))
    }
  }

  /** A write that fails must not fail the others. */
  const alone = (write: Write): ReadonlyArray<Answer> => {
    const answer = transact([write])
    return answer === "busy" ? [Exit.fail(notDone(new Error("another process is writing")))] : answer
  }

  return transact
}

const milliseconds = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

const lockKept = (): StorageUnavailable =>
  new StorageUnavailable({ outcome: "not_done", message: "SQLite: another process kept the write lock" })

/** Retries a busy lock without blocking the process. */
const patiently = Effect.fnUntraced(function* (transact: Transact, writes: ReadonlyArray<Write>, left: number) {
  const deadline = (yield* milliseconds) + left
  while ((yield* milliseconds) < deadline) {
    yield* Effect.sleep(yield* Random.nextIntBetween(1, 10))
    const answers = transact(writes)
    if (answers !== "busy") return answers
  }
  return yield* lockKept()
})

/**
 * Commits in groups: an fsync costs far more than a statement, so writes that meet share one. The driver blocks the
 * process while it commits, so writes gather in the rounds before, as long as each round brings more. A lone write is
 * committed at once.
 */
export const groupCommit = Effect.fnUntraced(function* (connection: Connection) {
  const commit = transactOn(connection)
  const transact: Transact = (writes) => {
    endTurns()
    return commit(writes)
  }
  /** A group is waiting for another connection's lock; asking again beside it would only block the process. */
  let isLocked = false
  const waitForLock = (writes: ReadonlyArray<Write>, left: number) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        isLocked = true
      }),
      () => patiently(transact, writes, left),
      () =>
        Effect.sync(() => {
          isLocked = false
        })
    )
  const inGroup = yield* coalesce<Write, number, StorageUnavailable>({
    run: (writes, left) =>
      Effect.suspend(() => {
        const answers = transact(writes)
        return answers === "busy" ? waitForLock(writes, left) : Effect.succeed(answers)
      }),
    leaves: "lull",
    size: 1000,
    underWay: 1,
    within: 5000,
    late: lockKept
  })
  const comesAlone = detectBursts(setImmediate)

  return (write: Write): Effect.Effect<number, StorageUnavailable> => {
    const answers = comesAlone() && !isLocked ? transact([write]) : "busy"
    const [answer] = answers === "busy" ? [] : answers
    return answer ?? inGroup(write)
  }
})
