import { Effect, Option, Result } from "effect"
import type { Opening, Store, StoreKind } from "../../adapters/StoreKind.ts"
import { sqliteAt } from "../../adapters/sqlite/store.ts"
import { expectedUrl, readStoreUrl } from "../../adapters/stores.ts"
import { type Complaint, optional, readVariables, timeoutOf, type Variable } from "./Variable.ts"

/** Where the records are. What is to be said of the store itself stands in its URL. */
export const databaseVariable = (kinds: ReadonlyArray<StoreKind>): Variable<Store> => ({
  name: "DATABASE_URL",
  expected: expectedUrl(kinds),
  read: (url) => Result.getSuccess(readStoreUrl(url, kinds)),
  wrong: (url) => Option.getOrUndefined(Result.getFailure(readStoreUrl(url, kinds))),
  fallback: sqliteAt("./data/tessera.db")
})

export const storageVariables = { storageTimeout: optional(timeoutOf("STORAGE_TIMEOUT", 100, 0)) }

export const openingOf = (storageTimeout: Option.Option<number>): Opening => ({
  deadline: Option.getOrUndefined(storageTimeout)
})

/** For commands that are told by flags which stores they are about. */
export const readOpening: Effect.Effect<Opening, Complaint> = Effect.map(
  readVariables(storageVariables).storageTimeout,
  openingOf
)
