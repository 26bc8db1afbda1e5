import { Effect } from "effect"
import type { Grant } from "../grant/Grant.ts"
import type { Slice, StorageUnavailable } from "../ports/Storage.ts"
import { grantMark, markLength } from "../rules/Id.ts"
import type { Listed } from "../server/Records.ts"

/** A list of grants that somebody may look at. */
export type GrantList = (slice: Slice) => Effect.Effect<Listed<Grant>, StorageUnavailable>

const isMark = (text: string | undefined): text is string =>
  text !== undefined && text.length === markLength && /^[A-Za-z0-9_-]+$/.test(text)

/** The grant of this list with this mark: a list is in the order of its ids, so it is the next one or none. */
export const findMarked = (
  list: GrantList,
  mark: string | undefined
): Effect.Effect<Grant | undefined, StorageUnavailable> =>
  isMark(mark)
    ? Effect.map(list({ after: mark, limit: 1 }), ({ values }) => values.find((grant) => grantMark(grant.id) === mark))
    : Effect.succeed(undefined)

/** The mark of the last grant of a page, for the address of the next. */
export const cursorOf = (last: string | undefined): string | undefined => last?.slice(0, markLength)

/** Where a list goes on behind a mark: `~` stands behind every character of an id. */
export const behindMark = (mark: string | undefined): string | undefined => (isMark(mark) ? `${mark}~` : undefined)
