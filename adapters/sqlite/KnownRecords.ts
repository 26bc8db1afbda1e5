import type { Json, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { LatelyUsed } from "../../core/rules/LatelyUsed.ts"

/** A kilobyte and a half each, with what the core makes of it. */
const most = 8192
/** Some bodies are long: those are read every time, so that nobody decides how much is kept. */
const longest = 1024

/** Records as they were read last, which is what the file says until somebody writes to them. */
export class KnownRecords {
  private records = new LatelyUsed<string, StoredRecord>(most)

  get({ workspace, id }: RecordKey): StoredRecord | undefined {
    const known = this.records.get(id)
    return known?.workspace === workspace ? known : undefined
  }

  /** `text`: the record's body, which each reader gets anew: nobody can change what the next one reads. */
  keep(record: StoredRecord, text: string): StoredRecord {
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

  forget(id: string): void {
    this.records.delete(id)
  }

  forgetAll(): void {
    this.records = new LatelyUsed(most)
  }
}
