import { Effect } from "effect"
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

/** A wire whose scripts are done when a replica has what they wrote. Else what came of them is unknown. */
export const waitingForReplica = (wire: Wire): Wire => ({
  ...wire,
  run: (script, keys, args, deadline) =>
    Effect.suspend(() => {
      const losses = wire.losses()
      return Effect.flatMap(wire.run(script, keys, args, deadline), (answer) =>
        wrote(answer)
          ? Effect.flatMap(
              Effect.mapError(
                wire.ask("wait", [1, millisOf(deadline)], deadline),
                ({ message }) => new StorageUnavailable({ outcome: "unknown", message })
              ),
              // It is about the writes of the connection that it is asked over, so another one knows nothing of ours.
              (replicas) =>
                typeof replicas === "number" && replicas >= 1 && wire.losses() === losses
                  ? Effect.succeed(answer)
                  : Effect.fail(notThere)
            )
          : Effect.succeed(answer)
      )
    })
})
