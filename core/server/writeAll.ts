import { Effect } from "effect"

/** Over a network so many travel together, over a file they share an fsync; and no store has to take more at once. */
const atOnce = 64

/**
 * Writes one after the other, many at once, up to the first that fails: `failed` is told which, none is begun after it,
 * and those under way are seen to their end, so that a single record that cannot be had takes no other one with it.
 * Answers how many were written.
 */
export const writeAll = <A, E>(
  items: ReadonlyArray<A>,
  write: (item: A) => Effect.Effect<void, E>,
  failed: (item: A) => void
): Effect.Effect<number, E> =>
  Effect.suspend(() => {
    let written = 0
    let failure: Effect.Effect<never, E> | undefined
    const writeOne = (item: A) =>
      Effect.suspend(() =>
        failure !== undefined
          ? Effect.void
          : Effect.match(write(item), {
              onFailure: (error) => {
                if (failure !== undefined) return
                failure = Effect.fail(error)
                failed(item)
              },
              onSuccess: () => {
                written++
              }
            })
      )
    return Effect.flatMap(Effect.forEach(items, writeOne, { concurrency: atOnce, discard: true }), () =>
      failure === undefined ? Effect.succeed(written) : failure
    )
  })
