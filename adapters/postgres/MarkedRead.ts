import type { Json, RecordKey } from "../../core/ports/Storage.ts"
import { LatelyRead, type Read } from "../records/ParseCache.ts"

/** A body that was read, and how the database can be told that it is known here. */
export interface MarkedRead extends Read {
  /** Nothing until the body was looked at, and where it does not tell. */
  mark: Mark | undefined
}

/** The workspace that a body was read in, and the write that it came by, as `getMany` has the database say it. */
interface Mark {
  readonly workspace: string
  readonly write: string
}

export type MarkedReads = LatelyRead<MarkedRead>

export const markedReads = (): MarkedReads => new LatelyRead((text) => ({ text, made: undefined, mark: undefined }))

/** Other names may not be held, or sent, as they are (`BodyText.ts`). */
const plain = /^[ -~]*$/

export const markOf = (workspace: string, version: number, body: Json): Mark | undefined =>
  typeof body === "object" && body !== null && "_by" in body && typeof body._by === "string" && plain.test(body._by)
    ? { workspace, write: `${version} ${body._by}` }
    : undefined

/** What was read lately of this very record, if the database can be told of it. */
export const knownOf = (lately: MarkedReads | undefined, { id, workspace }: RecordKey): MarkedRead | undefined => {
  const read = lately?.last(id)
  return read?.mark?.workspace === workspace ? read : undefined
}
