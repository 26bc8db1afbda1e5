import { Schema } from "effect"
import {
  forEachKind,
  type Json,
  type Kind,
  type Listing,
  type NewRecord,
  type Page,
  type RecordKey,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { type Expiring, ExpiryHeap } from "./ExpiryHeap.ts"
import { SortedList } from "./SortedList.ts"

/** A record's place. Each write stores a new record object, so one that was handed out never changes. */
interface Place extends Expiring {
  record: StoredRecord
}

const byOwnerAndId = ({ record: a }: Place, { record: b }: Place): number => {
  if (a.owner !== b.owner) return a.owner < b.owner ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return 0
}

/** The records of one kind in one workspace. */
class Shelf {
  readonly workspace: string
  readonly places = new Map<string, Place>()
  private readonly lists = new SortedList<Place>(byOwnerAndId)

  constructor(workspace: string) {
    this.workspace = workspace
  }

  add(place: Place): void {
    this.places.set(place.record.id, place)
    this.lists.add(place)
  }

  delete(place: Place): void {
    this.places.delete(place.record.id)
    this.lists.delete(place)
  }

  /** Records after an owner and id, by owner and id. */
  behind(owner: string, id: string | undefined): Iterable<Place> {
    return this.lists.from(
      ({ record }) => record.owner < owner || (record.owner === owner && id !== undefined && record.id <= id)
    )
  }
}

type Workspace = { readonly [kind in Kind]: Shelf }

const emptyWorkspace = (id: string): Workspace => forEachKind(() => new Shelf(id))

const Cursor = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.String, Schema.String]))
/** Throws on a cursor that no page has returned: that is a caller's bug. */
const readCursor = Schema.decodeSync(Cursor)
const cursor = (last: StoredRecord | undefined): string | undefined =>
  last && JSON.stringify([last.workspace, last.owner, last.id])

/** All records. JavaScript runs one turn at a time, so each method is atomic. */
export class Shelves {
  private readonly workspaces = new Map<string, Workspace>()
  private readonly expiring = new ExpiryHeap<Place>()
  private readonly keep: (body: Json) => Json

  constructor(keep: (body: Json) => Json) {
    this.keep = keep
  }

  get(key: RecordKey): StoredRecord | undefined {
    return this.place(key)?.record
  }

  insert({ workspace, kind, id, owner, expiresAt, body }: NewRecord): boolean {
    const shelf = this.shelf(workspace, kind)
    if (shelf.places.has(id)) return false
    // The shelf's own string of the workspace, so that records do not each keep a copy.
    const record = { workspace: shelf.workspace, kind, id, owner, version: 1, expiresAt, body: this.keep(body) }
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
    return true
  }

  remove(key: RecordKey): void {
    const place = this.place(key)
    if (place === undefined) return
    this.shelf(key.workspace, key.kind).delete(place)
    this.expiring.delete(place)
  }

  list({ workspace, kind, owner, after, limit }: Listing): Page {
    const records: Array<StoredRecord> = []
    const shelf = this.workspaces.get(workspace)?.[kind]
    if (shelf === undefined) return { records, next: undefined }
    for (const { record } of shelf.behind(owner, after)) {
      if (record.owner !== owner) break
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
    for (const name of [...this.workspaces.keys()].sort()) {
      if (name < workspace) continue
      const shelf = this.shelf(name, kind)
      for (const { record } of name === workspace ? shelf.behind(owner, id) : shelf.behind("", undefined)) {
        if (records.length === limit) return { records, next: cursor(records.at(-1)) }
        records.push(record)
      }
    }
    return { records, next: undefined }
  }

  private place({ workspace, kind, id }: RecordKey): Place | undefined {
    return this.workspaces.get(workspace)?.[kind].places.get(id)
  }

  private shelf(workspace: string, kind: Kind): Shelf {
    const found = this.workspaces.get(workspace) ?? emptyWorkspace(workspace)
    this.workspaces.set(workspace, found)
    return found[kind]
  }
}
