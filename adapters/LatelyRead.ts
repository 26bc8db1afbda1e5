import type { Reading, RecordKey } from "../core/ports/Storage.ts"
import { LatelyUsed } from "../core/rules/LatelyUsed.ts"

export interface Read extends Reading {
  readonly text: string
  /** How the store can be told that this is known, and in which workspace; nothing until the body was looked at. */
  mark?: Mark | undefined
}

export interface Mark {
  readonly workspace: string
  readonly write: string
}

/** A kilobyte each, with what the core makes of it. */
const most = 32_768
/** Some bodies are long: those are read every time, so that nobody decides how much is kept. */
const longest = 1024

/**
 * The texts of bodies as they were read last. A record that is in use is read over and over and hardly ever changes in
 * between: while its text is the same, so is its reading, and nothing of the text has to be parsed.
 */
export class LatelyRead {
  private readonly readings = new LatelyUsed<string, Read>(most)

  /** What was read lately of this very record, if the store can be told of it. */
  known({ id, workspace }: RecordKey): Read | undefined {
    const read = this.readings.get(id)
    return read?.mark?.workspace === workspace ? read : undefined
  }

  readingOf(id: string, text: string): Read | undefined {
    if (text.length > longest) return undefined
    const known = this.readings.get(id)
    if (known?.text === text) return known
    const reading: Read = { text, made: undefined }
    this.readings.set(id, reading)
    return reading
  }
}
