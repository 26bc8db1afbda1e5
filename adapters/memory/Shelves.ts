import { Schema } from "effect"
import {
  forEachKind,
  type Json,
  type Kind,
  type Listing,
  type NewRecord,
  type Page,
  type RecordKey,
  type StoredRecord,
  type Written,
  writtenKept
} from "../../core/ports/Storage.ts"
import { type Expiring, ExpiryHeap } from "./ExpiryHeap.ts"
import { SortedList } from "./SortedList.ts"

/** A record's place. Each write stores a new record object, so one that was handed out never changes. */
interface Place extends Expiring {
  record: StoredRecord
}

/** Which of two names comes first: -1, 0 or 1. */
const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const byPlace = ({ record: a }: Place, { record: b }: Place): number =>
  order(a.workspace, b.workspace) || order(a.owner, b.owner) || order(a.id, b.id)

/** Kinds whose lists only a copy of the whole store reads: a search for each insert would cost more than the rest. */
const unlisted: ReadonlySet<Kind> = new Set(["once", "request"])

/** The records of one kind, of all workspaces together: a workspace with few of them takes no more than those. */
class Shelf {
  /** By id. Ids are random, but a record of which each workspace has one may have the same id in all: those by workspace. */
  private readonly places = new Map<string, Place | Map<string, Place>>()
  private readonly list: SortedList<Place>

  constructor(kind: Kind) {
    this.list = new SortedList(byPlace, unlisted.has(kind))
  }

  find(workspace: string, id: string): Place | undefined {
    const found = this.places.get(id)
    if (found instanceof Map) return found.get(workspace)
    return found?.record.workspace === workspace ? found : undefined
  }

  add(place: Place): void {
    const { id, workspace } = place.record
    const found = this.places.get(id)
    if (found === undefined) this.places.set(id, place)
    else if (found instanceof Map) found.set(workspace, place)
    else {
      const both = new Map([[found.record.workspace, found]])
      this.places.set(id, both.set(workspace, place))
    }
    this.list.add(place)
  }

  delete(place: Place): void {
    const { id, workspace } = place.record
    const found = this.places.get(id)
    if (found instanceof Map) found.delete(workspace)
    if (!(found instanceof Map) || found.size === 0) this.places.delete(id)
    this.list.delete(place)
  }

  /** Records after a workspace, an owner and an id, in this order. */
  behind(workspace: string, owner: string, id: string | undefined): Iterable<Place> {
    return this.list.from(({ record }) => {
      const before = order(record.workspace, workspace) || order(record.owner, owner)
      return before < 0 || (before === 0 && id !== undefined && record.id <= id)
    })
  }
}

const Cursor = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.String, Schema.String]))
/** Throws on a cursor that no page has returned: that is a caller's bug. */
const readCursor = Schema.decodeSync(Cursor)
const cursor = (last: StoredRecord | undefined): string | undefined =>
  last && JSON.stringify([last.workspace, last.owner, last.id])

/** A copy of the last writes is made once for as many, not at each. */
class WriteLog implements Written {
  count = 0
  last: Array<Pick<RecordKey, "workspace" | "id">> = []

  add({ id, workspace }: StoredRecord): void {
    this.count++
    if (this.last.length === 2 * writtenKept) this.last = this.last.slice(writtenKept)
    this.last.push({ workspace, id })
  }
}

/** All records. JavaScript runs one turn at a time, so each method is atomic. */
export class Shelves {
  private readonly shelves = forEachKind((kind) => new Shelf(kind))
  /** One text of each, so that records do not each keep a copy. */
  private readonly workspaces = new Map<string, string>()
  private readonly expiring = new ExpiryHeap<Place>()
  /** Of the kinds that were asked about. */
  private readonly logs: { [kind in Kind]?: WriteLog } = {}
  private readonly keep: (body: Json) => Json

  constructor(keep: (body: Json) => Json) {
    this.keep = keep
  }

  get(key: RecordKey): StoredRecord | undefined {
    return this.place(key)?.record
  }

  insert({ workspace, kind, id, owner, expiresAt, body }: NewRecord): boolean {
    const shelf = this.shelves[kind]
    if (shelf.find(workspace, id) !== undefined) return false
    const record = { workspace: this.nameOf(workspace), kind, id, owner, version: 1, expiresAt, body: this.keep(body) }
    const place = { record, expiresAt, due: 0, slot: -1 }
    shelf.add(place)
    this.expiring.update(place)
    return true
  }

  replace(expected: number, next: NewRecord): boolean {
    const place = this.place(next)
    if (place?.record.version !== expected) return false
    const { workspace, kind, id, owner } = place.record
    const { expiresAt } = next
    place.record = { workspace, kind, id, owner, version: expected + 1, expiresAt, body: this.keep(next.body) }
    place.expiresAt = expiresAt
    this.expiring.update(place)
    this.logs[kind]?.add(place.record)
    return true
  }

  remove(key: RecordKey): void {
    const place = this.place(key)
    if (place === undefined) return
    this.shelves[key.kind].delete(place)
    this.expiring.delete(place)
    this.logs[key.kind]?.add(place.record)
  }

  list({ workspace, kind, owner, after, limit }: Listing): Page {
    const records: Array<StoredRecord> = []
    for (const { record } of this.shelves[kind].behind(workspace, owner, after)) {
      if (record.owner !== owner || record.workspace !== workspace) break
      if (records.length === limit) return { records, next: records.at(-1)?.id }
      records.push(record)
    }
    return { records, next: undefined }
  }

  sweep(before: number, limit: number): number {
    for (let swept = 0; swept < limit; swept++) {
      const place = this.expiring.soonest()
      if (place?.expiresAt == null || place.expiresAt > before) return swept
      this.remove(place.record)
    }
    return limit
  }

  /** Ordered by workspace, owner and id. */
  scan(kind: Kind, after: string | undefined, limit: number): Page {
    const [workspace, owner, id] = after === undefined ? ["", "", undefined] : readCursor(after)
    const records: Array<StoredRecord> = []
    for (const { record } of this.shelves[kind].behind(workspace, owner, id)) {
      if (records.length === limit) return { records, next: cursor(records.at(-1)) }
      records.push(record)
    }
    return { records, next: undefined }
  }

  written(kind: Kind): Written {
    const log = this.logs[kind] ?? new WriteLog()
    this.logs[kind] = log
    return log
  }

  private place({ workspace, kind, id }: RecordKey): Place | undefined {
    return this.shelves[kind].find(workspace, id)
  }

  private nameOf(workspace: string): string {
    const known = this.workspaces.get(workspace)
    if (known === undefined) this.workspaces.set(workspace, workspace)
    return known ?? workspace
  }
}
