import { Effect, Exit } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Deadline, Wire } from "./Wire.ts"

/** While one waits, everything behind it on the connection does, so no replica is waited for longer. */
const longestWait = 1000

const millisOf = (deadline: Deadline): number =>
  // Zero would wait forever.
  Math.max(1, Math.floor(Math.min(longestWait, (deadline - performance.now()) / 2)))

/** Whether a script wrote: an insert answers 1, replaces a 1 for each of them, a removal the line of what it removed. */
const wrote = (answer: unknown): boolean => answer === 1 || (typeof answer === "string" && answer.includes("1"))

const notThere = new StorageUnavailable({
  outcome: "unknown",
  message: "Redis wrote it, and no replica had it in time: a failover may lose it"
})

const unconfirmed = new StorageUnavailable({
  outcome: "not_done",
  message: "Redis holds a write of this record that no replica has yet"
})

/** With more records than these whose last write no replica has, all of them wait. */
const most = 10_000
/** Lifetime of the mark, which is written only to wait for the writes before it. */
const markMillis = 60_000

/** Of scripts' keys: each record stands before its shard. Lists that follow may be taken for records, which waits longer. */
const recordsOf = (keys: ReadonlyArray<string>): ReadonlyArray<string> => keys.filter((_, at) => at % 2 === 0)

/** Whether a write may be done, and on no replica. That of a caller who has gone goes on all the same. */
const mayBeNowhere = (exit: Exit.Exit<unknown, StorageUnavailable>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => reason._tag !== "Fail" || reason.error.outcome === "unknown")

/**
 * A wire whose scripts are done when a replica has what they wrote. Else what came of them is unknown, and their records
 * are neither read nor written until a replica has them: a reader of such a write would take it for done. Who reads a
 * record while a write of it is under way may have read what that wrote, and waits for the same.
 * `mark`: a key of its own.
 */
export const waitingForReplica = (wire: Wire, mark: string): Required<Wire> => {
  /** Records by when it turned out that their last write may be on no replica. */
  const unsure = new Map<string, number>()
  /** How many writes of a record are under way. */
  const underWay = new Map<string, number>()
  let turn = 0

  const isUnsure = (record: string): boolean => unsure.has(record) || unsure.size >= most
  const note = (records: ReadonlyArray<string>): void => {
    turn++
    for (const record of records) unsure.set(record, turn)
  }
  const count = (records: ReadonlyArray<string>, by: 1 | -1): void => {
    for (const record of records) {
      const writes = (underWay.get(record) ?? 0) + by
      if (writes === 0) underWay.delete(record)
      else underWay.set(record, writes)
    }
  }

  /** Whether a replica has what this wrote. It has all that was written before, too: replicas take writes in order. */
  const onReplica = <A>(
    write: Effect.Effect<A, StorageUnavailable>,
    hasWritten: (answer: A) => boolean,
    deadline: Deadline
  ): Effect.Effect<A, StorageUnavailable> =>
    Effect.suspend(() => {
      const losses = wire.losses()
      const begun = turn
      return Effect.flatMap(write, (answer) =>
        hasWritten(answer)
          ? Effect.flatMap(
              Effect.mapError(
                wire.ask("wait", [1, millisOf(deadline)], deadline),
                ({ message }) => new StorageUnavailable({ outcome: "unknown", message })
              ),
              (replicas) => {
                // It is about the writes of the connection that it is asked over, so another one knows nothing of ours.
                if (typeof replicas !== "number" || replicas < 1 || wire.losses() !== losses) {
                  return Effect.fail(notThere)
                }
                for (const [record, since] of unsure) if (since <= begun) unsure.delete(record)
                return Effect.succeed(answer)
              }
            )
          : Effect.succeed(answer)
      )
    })

  const settled = (deadline: Deadline): Effect.Effect<void, StorageUnavailable> =>
    Effect.mapError(
      onReplica(Effect.asVoid(wire.ask("set", [mark, "", "PX", markMillis], deadline)), () => true, deadline),
      () => unconfirmed
    )

  return {
    ...wire,
    run: (script, keys, args, deadline) =>
      Effect.suspend(() => {
        const records = recordsOf(keys)
        const written = Effect.onExit(
          Effect.suspend(() => {
            count(records, 1)
            return onReplica(wire.run(script, keys, args, deadline), wrote, deadline)
          }),
          (exit) =>
            Effect.sync(() => {
              count(records, -1)
              if (mayBeNowhere(exit)) note(records)
            })
        )
        return records.some(isUnsure) ? Effect.andThen(settled(deadline), written) : written
      }),
    settled: (record) => (underWay.has(record) || isUnsure(record) ? settled(wire.deadline()) : undefined)
  }
}
