import { LruMap } from "../../core/cache/LruMap.ts"
import type { Json, RecordKey } from "../../core/ports/Storage.ts"
import { freeze } from "./freeze.ts"

/** Two kilobytes each: the text and the parsed body. */
const most = 32_768
/** Longer bodies are parsed each time, so that no client decides how much memory is used. */
const longest = 1024

/** A record as it was parsed last. */
export interface Parsed {
  readonly workspace: string
  readonly version: number
  readonly expiresAt: number | null
  readonly text: string
  readonly body: Json
}

/**
 * The bodies parsed last, by id. Records in use are read often and rarely change: the same text gives the same body,
 * frozen because readers share it.
 */
export class ParseCache {
  private readonly records = new LruMap<string, Parsed>(most)
  private readonly parse: (text: string) => Json

  constructor(parse: (text: string) => Json) {
    this.parse = parse
  }

  /** The last parsed record, which may be outdated. */
  last({ id, workspace }: RecordKey): Parsed | undefined {
    const known = this.records.get(id)
    return known?.workspace === workspace ? known : undefined
  }

  /** Throws what `parse` throws. */
  bodyOf({ id, workspace }: RecordKey, version: number, expiresAt: number | null, text: string): Json {
    if (text.length > longest) return this.parse(text)
    const known = this.records.get(id)
    const isSame = known?.text === text
    if (isSame && known.version === version && known.expiresAt === expiresAt && known.workspace === workspace) {
      return known.body
    }
    const body = isSame ? known.body : freeze(this.parse(text))
    this.records.set(id, { workspace, version, expiresAt, text, body })
    return body
  }

  forget({ id }: RecordKey): void {
    this.records.delete(id)
  }
}
