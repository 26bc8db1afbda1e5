import type { StoredRecord } from "../../core/ports/Storage.ts"
import type { Expiring } from "./ExpiryHeap.ts"
import { SortedList } from "./SortedList.ts"

/** A record's place. Each write puts a new record into it, so that one that was given out never changes. */
export interface Place extends Expiring {
  record: StoredRecord
}

const byOwnerAndId = ({ record: a }: Place, { record: b }: Place): number => {
  if (a.owner !== b.owner) return a.owner < b.owner ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return 0
}

/** The records of one kind in one workspace. */
export class Shelf {
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

  /** All from behind an owner and id, owner by owner, in the order of their ids. */
  behind(owner: string, id: string | undefined): Iterable<Place> {
    return this.lists.from(
      ({ record }) => record.owner < owner || (record.owner === owner && id !== undefined && record.id <= id)
    )
  }
}
