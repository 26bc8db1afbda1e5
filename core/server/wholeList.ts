import { Effect } from "effect"
import type { Slice } from "../ports/Storage.ts"
import type { Listed } from "./Records.ts"

const pageSize = 100

type List<A, E> = (slice: Slice) => Effect.Effect<Listed<A>, E>

/** Goes through all of a list, read page by page. */
export const eachOf = Effect.fnUntraced(function* <A, E, F>(
  list: List<A, E>,
  look: (value: A) => Effect.Effect<void, F>
): Effect.fn.Return<void, E | F> {
  let after: string | undefined
  do {
    const page = yield* list({ after, limit: pageSize })
    for (const value of page.values) yield* look(value)
    after = page.next
  } while (after !== undefined)
})

export const wholeList = <A, E>(list: List<A, E>): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.suspend(() => {
    const all: Array<A> = []
    return Effect.as(
      eachOf(list, (value) => Effect.sync(() => all.push(value))),
      all
    )
  })
