import { LatelyUsed } from "../../core/cache/LruMap.ts"
import type { Reading } from "../../core/ports/Storage.ts"

export interface Read extends Reading {
  readonly text: string
}

export const readOf = (text: string): Read => ({ text, made: undefined })

/** A kilobyte each, with what the core makes of it. */
const most = 32_768
/** Some bodies are long: those are read every time, so that nobody decides how much is kept. */
const longest = 1024

/**
 * The texts of bodies as they were read last. A record that is in use is read over and over and hardly ever changes in
 * between: while its text is the same, so is its reading, and nothing of the text has to be parsed.
 */
export class LatelyRead<A extends Read> {
  private readonly readings = new LatelyUsed<string, A>(most)
  private readonly make: (text: string) => A

  constructor(make: (text: string) => A) {
    this.make = make
  }

  /** What was read last of this id, whatever the store holds by now. */
  last(id: string): A | undefined {
    return this.readings.get(id)
  }

  readingOf(id: string, text: string): A | undefined {
    if (text.length > longest) return undefined
    const known = this.readings.get(id)
    if (known?.text === text) return known
    const reading = this.make(text)
    this.readings.set(id, reading)
    return reading
  }
}
