import type { Json, Kind, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { LatelyUsed } from "../../core/rules/LatelyUsed.ts"
import type { Connection } from "./Connection.ts"
import type { Found } from "./RecordTable.ts"
import type { Write } from "./transact.ts"
import { watchOthers } from "./watchOthers.ts"

/** The kind that requests read over and over. */
const knownKind: Kind = "grant"
/** A kilobyte and a half each, with what the core makes of it. */
const most = 2048
/** Some bodies are long: those are read every time, so that nobody decides how much is kept. */
const longest = 1024

/** Records as they were read last, which is what the file says until somebody writes to them. */
export class KnownRecords {
  private records = new LatelyUsed<string, StoredRecord>(most)
  private readonly catchUp: () => void

  constructor(connection: Connection) {
    this.catchUp = watchOthers(connection, () => this.forgetAll())
  }

  /** Throws what `read` or the driver throws. */
  get(key: RecordKey, read: () => Found | undefined): StoredRecord | undefined {
    if (key.kind !== knownKind) return read()?.record
    this.catchUp()
    const known = this.records.get(key.id)
    if (known?.workspace === key.workspace) return known
    const found = read()
    return found && this.keep(found)
  }

  /** The same write, after which its record is not known. */
  forgetting({ kind, id }: RecordKey, write: Write): Write {
    return () => {
      if (kind === knownKind) this.records.delete(id)
      return write()
    }
  }

  forgetAll(): void {
    this.records = new LatelyUsed(most)
  }

  /** Each reader gets a body of its own, so that nobody can change what the next one reads. */
  private keep({ record, text }: Found): StoredRecord {
    if (text.length > longest) return record
    const { workspace, kind, id, owner, version, expiresAt } = record
    const reading = { made: undefined }
    this.records.set(id, {
      workspace,
      kind,
      id,
      owner,
      version,
      expiresAt,
      reading,
      get body() {
        // It is what the record's body was parsed from.
        return JSON.parse(text) as Json
      }
    })
    return { ...record, reading }
  }
}
