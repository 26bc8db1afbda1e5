import { Effect } from "effect"
import type { Slice, StorageUnavailable } from "../ports/Storage.ts"
import type { Listed } from "./Records.ts"

/** What one page of a list may show, and what may be looked at for it. */
export const shownMost = 25
export const lookedAtMost = 1000
const batch = 100

export interface Gathered<B> {
  readonly values: ReadonlyArray<B>
  /** The last id that this page is done with, where there may be more behind it. */
  readonly last: string | undefined
}

/** Goes through a list until a page is full, or enough was looked at for one request. */
export const gather = Effect.fnUntraced(function* <A extends { readonly id: string }, B>(
  list: (slice: Slice) => Effect.Effect<Listed<A>, StorageUnavailable>,
  start: string | undefined,
  pick: (value: A) => Effect.Effect<B | undefined, StorageUnavailable>
): Effect.fn.Return<Gathered<B>, StorageUnavailable> {
  const values: Array<B> = []
  let after = start
  let last: string | undefined
  for (let lookedAt = 0; lookedAt < lookedAtMost; lookedAt += batch) {
    const listed = yield* list({ after, limit: batch })
    for (const value of listed.values) {
      const picked = yield* pick(value)
      if (picked === undefined) continue
      // One more than fits: now it is known that a page follows.
      if (values.length === shownMost) return { values, last }
      values.push(picked)
      last = value.id
    }
    if (listed.next === undefined) return { values, last: undefined }
    after = listed.next
  }
  return { values, last: after }
})
