import { Exit } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Connection } from "./Connection.ts"
import { commitFailed, isBusy, notDone } from "./failure.ts"
import { rollback } from "./rollback.ts"

/** A write's statements; it answers how many records it changed. */
export type Write = () => number

type Answer = Exit.Exit<number, StorageUnavailable>

/** `busy`: somebody else holds the write lock, and nothing has happened. */
export type Transact = (writes: ReadonlyArray<Write>) => "busy" | ReadonlyArray<Answer>

/** All writes in one transaction, in their order, each with its own answer. It throws nothing. */
export const transactOn = (connection: Connection): Transact => {
  const begin = connection.prepare("BEGIN IMMEDIATE")
  const commit = connection.prepare("COMMIT")

  const transact: Transact = (writes) => {
    const all = (answer: Answer) => writes.map(() => answer)
    try {
      connection.requireInPlace()
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

  /** A write that can't be done must not take the others with it. */
  const alone = (write: Write): ReadonlyArray<Answer> => {
    const answer = transact([write])
    return answer === "busy" ? [Exit.fail(notDone(new Error("another process is writing")))] : answer
  }

  return transact
}
