import { Effect } from "effect"
import type { Grant } from "../grant/Grant.ts"
import type { Slice, StorageUnavailable } from "../ports/Storage.ts"
import { grantMark, markLength } from "../rules/Id.ts"
import type { Listed } from "./Records.ts"

/** What one page of a list may show, and what may be looked at for it. */
export const shownMost = 25
export const lookedAtMost = 1000
const batch = 100

interface Collected<B> {
  readonly values: ReadonlyArray<B>
  /** The last id that this page is done with, where there may be more behind it. */
  readonly last: string | undefined
}

/** Goes through a list until a page is full, or enough was looked at for one request. */
export const collectPage = Effect.fnUntraced(function* <A extends { readonly id: string }, B>(
  list: (slice: Slice) => Effect.Effect<Listed<A>, StorageUnavailable>,
  start: string | undefined,
  pick: (value: A) => Effect.Effect<B | undefined, StorageUnavailable>
): Effect.fn.Return<Collected<B>, StorageUnavailable> {
  const values: Array<B> = []
  let after = start
  let last: string | undefined
  let atLeast = 0
  for (let lookedAt = 0; lookedAt < lookedAtMost; ) {
    // What the page lacks, and the one that tells of another page; where many are passed over, more and more at once.
    const lacking = shownMost + 1 - values.length
    const limit = Math.min(Math.max(lacking, atLeast), batch, lookedAtMost - lookedAt)
    const listed = yield* list({ after, limit })
    lookedAt += limit
    atLeast = atLeast === 0 ? 2 : 2 * limit
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

const pageSize = 100

type List<A, E> = (slice: Slice) => Effect.Effect<Listed<A>, E>

/** Goes through all of a list, read page by page. */
export const forEachItem = Effect.fnUntraced(function* <A, E, F>(
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

export const collectAll = <A, E>(list: List<A, E>): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.suspend(() => {
    const all: Array<A> = []
    return Effect.as(
      forEachItem(list, (value) => Effect.sync(() => all.push(value))),
      all
    )
  })

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

/** A list of grants that the visitor may see. */
export type GrantList = (slice: Slice) => Effect.Effect<Listed<Grant>, StorageUnavailable>

export const isMark = (text: string | undefined): text is string =>
  typeof text === "string" && text.length === markLength && /^[A-Za-z0-9_-]+$/.test(text)

/** The grant of this list with this mark. A list is in the order of ids, so it is the first one after the mark. */
export const findMarked = (
  list: GrantList,
  mark: string | undefined
): Effect.Effect<Grant | undefined, StorageUnavailable> =>
  isMark(mark)
    ? Effect.map(list({ after: mark, limit: 1 }), ({ values }) => values.find((grant) => grantMark(grant.id) === mark))
    : Effect.succeed(undefined)

/** The mark of the last grant of a page, for the address of the next. */
export const cursorOf = (last: string | undefined): string | undefined => last?.slice(0, markLength)

/** The cursor behind a mark: `~` sorts after every character of an id. */
export const behindMark = (mark: string | undefined): string | undefined => (isMark(mark) ? `${mark}~` : undefined)
