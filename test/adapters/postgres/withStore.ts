import { Effect, Layer, Redacted, Scope } from "effect"
import postgres from "postgres"
import { layer, type PostgresOptions } from "../../../adapters/postgres/Postgres.ts"
import { type NewRecord, type RecordKey, Storage } from "../../../core/ports/Storage.ts"

export const key = (id: string, workspace = "w"): RecordKey => ({ workspace, kind: "grant", id })

export const record = (id: string, body: NewRecord["body"] = {}, workspace = "w"): NewRecord => ({
  ...key(id, workspace),
  owner: "o",
  expiresAt: null,
  body
})

export const storeAt = (url: string, options: Partial<PostgresOptions> = {}) =>
  layer({ url: Redacted.make(url), ...options })

/** The store, for as long as the scope. */
export const openStore = (url: string, options: Partial<PostgresOptions> = {}) =>
  Effect.map(
    Effect.flatMap(Scope.Scope, (scope) => Layer.buildWithScope(Layer.fresh(storeAt(url, options)), scope)),
    (context) => Storage.of(context.mapUnsafe.get(Storage.key))
  )

export interface Meddler {
  readonly say: (statement: string) => Effect.Effect<ReadonlyArray<Record<string, unknown>>>
}

/** A superuser's own connection, by which a test meddles with the server. */
export const meddler = (url: string): Effect.Effect<Meddler, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => postgres(url, { max: 1, onnotice: () => undefined })),
      (sql) => Effect.promise(() => sql.end({ timeout: 1 }).catch(() => undefined))
    ),
    (sql) => ({ say: (statement) => Effect.promise(() => sql.unsafe(statement)) })
  )
