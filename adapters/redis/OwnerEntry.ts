import { fromKeyText, toKeyText } from "../KeyText.ts"

/**
 * A line in an owner's list: the record's id, written so that Redis, which sorts by bytes, sorts as the port wants
 * (by UTF-16 code units), then the entry. Each attempt to insert has an entry of its own, so striking one's own line
 * can never strike somebody else's. An entry begins with its time of birth: a line without a record may belong to an
 * insert that is still on its way, and is struck only when it is too old for that.
 */
export const lineOf = (id: string, entry: string): string => `${toKeyText(id)}\0${entry}`

export interface Line {
  readonly text: string
  readonly id: string
  readonly entry: string
}

export const parseLine = (text: string): Line => {
  const end = text.lastIndexOf("\0")
  return { text, id: fromKeyText(text.slice(0, end)), entry: text.slice(end + 1) }
}

/** The least line of any id after this one. */
export const afterId = (id: string): string => `${toKeyText(id)}\x01`

export const bornAt = (entry: string): number => Number.parseInt(entry, 36)

/** Entries of one process: `birth.process.number`. */
export const makeEntries = (process: string): ((now: number) => string) => {
  let count = 0
  return (now) => `${Math.floor(now).toString(36)}.${process}.${(count++).toString(36)}`
}
