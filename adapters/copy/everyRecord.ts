import { Effect } from "effect"
import type { Kind, StorageScan, StorageUnavailable, StoredRecord } from "../../core/ports/Storage.ts"
import { again } from "./again.ts"

const pageSize = 500

/** Goes through all records of a kind, page by page. */
export const everyRecord = <E>(
  scan: StorageScan["Service"]["scan"],
  kind: Kind,
  look: (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E>
): Effect.Effect<void, E | StorageUnavailable> =>
  Effect.gen(function* () {
    let after: string | undefined
    do {
      const from = after
      const page = yield* Effect.suspend(() => scan(kind, from, pageSize)).pipe(Effect.retry(again))
      yield* look(page.records)
      after = page.next
    } while (after !== undefined)
  })
