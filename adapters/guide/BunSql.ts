import { SQL } from "bun"
import { Clock, Effect, Layer, Option, Redacted } from "effect"
import { Conflict, type Json, type RecordKey, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"

/** One table for every kind. */
const createTable = (sql: SQL) =>
  sql`
  CREATE TABLE IF NOT EXISTS tessera_records (
    workspace bytea, kind text, id bytea,
    owner bytea NOT NULL, version int NOT NULL, expires bigint, body text NOT NULL,
    PRIMARY KEY (workspace, kind, id)
  );
  CREATE INDEX IF NOT EXISTS tessera_records_owned ON tessera_records (workspace, kind, owner, id);
  CREATE INDEX IF NOT EXISTS tessera_records_expiring ON tessera_records (expires) WHERE expires IS NOT NULL`.simple()

interface Row {
  readonly id: Uint8Array
  readonly owner: Uint8Array
  readonly version: number
  readonly expires: string | null
  readonly body: string
}

/** UTF-16 code units, big-endian: they hold any text, and sort as JavaScript sorts strings. */
const toBytes = (text: string): Buffer => Buffer.from(text, "utf16le").swap16()
const fromBytes = (bytes: Uint8Array): string => Buffer.from(bytes).swap16().toString("utf16le")

const toRecord = ({ workspace, kind }: Omit<RecordKey, "id">, row: Row) => {
  // Only `toText` writes bodies, from a value of this type.
  const body = JSON.parse(row.body) as Json
  const expiresAt = row.expires === null ? null : Number(row.expires)
  return { workspace, kind, id: fromBytes(row.id), owner: fromBytes(row.owner), version: row.version, expiresAt, body }
}

/** Bodies are text, because jsonb takes no NUL. */
const toText = (body: Json): string => JSON.stringify(body)

/** SQLSTATEs that mean that the statement was rolled back: bad data, a lost race, no rights, no room. */
const rolledBack = /^(?:22|23|40001|40P01|42|53|55)/

/** A statement that was sent may have run, unless the server says that it was rolled back. */
const troubleOf = (thrown: unknown, writes: boolean): StorageUnavailable => {
  const state = thrown instanceof SQL.PostgresError ? thrown.errno : undefined
  const outcome = !writes || (state !== undefined && rolledBack.test(state)) ? "not_done" : "unknown"
  // The server's message may quote stored values; its code never does.
  return new StorageUnavailable({ outcome, message: `PostgreSQL: ${state ?? "no answer"}` })
}

/**
 * Ends a call after a deadline, because a frozen server keeps the connection open. The clock is the store's own: a
 * call may run on a test's clock, on which hours pass at once.
 */
const askBy =
  (clock: Clock.Clock, writes: boolean) =>
  <A>(send: () => PromiseLike<A>): Effect.Effect<A, StorageUnavailable> =>
    Effect.tryPromise({ try: () => Promise.resolve(send()), catch: (thrown) => troubleOf(thrown, writes) }).pipe(
      Effect.timeoutOrElse({ duration: "5 seconds", orElse: () => Effect.fail(troubleOf(undefined, writes)) }),
      Effect.provideService(Clock.Clock, clock)
    )

type Ask = ReturnType<typeof askBy>

/** No row means that another writer was first. */
const oneOrConflict = (rows: ReadonlyArray<unknown>): Effect.Effect<void, Conflict> =>
  rows.length === 1 ? Effect.void : Effect.fail(new Conflict())

const verbs = (sql: SQL, reading: Ask, writing: Ask): Storage["Service"] => ({
  get: (key) =>
    reading(
      () => sql<ReadonlyArray<Row>>`
        SELECT id, owner, version, expires, body FROM tessera_records
        WHERE workspace = ${toBytes(key.workspace)} AND kind = ${key.kind} AND id = ${toBytes(key.id)}`
    ).pipe(Effect.map(([row]) => (row === undefined ? Option.none() : Option.some(toRecord(key, row))))),

  // The primary key decides which insert was first; a read before the write would let two in.
  insert: ({ workspace, kind, id, owner, expiresAt, body }) =>
    writing(
      () => sql<ReadonlyArray<unknown>>`
        INSERT INTO tessera_records (workspace, kind, id, owner, version, expires, body)
        VALUES (${toBytes(workspace)}, ${kind}, ${toBytes(id)}, ${toBytes(owner)}, 1, ${expiresAt}, ${toText(body)})
        ON CONFLICT DO NOTHING RETURNING 1`
    ).pipe(Effect.flatMap(oneOrConflict)),

  // Compare and set in one statement: after waiting for a row's lock, PostgreSQL compares again.
  replace: (expected, { workspace, kind, id, expiresAt, body }) =>
    writing(
      () => sql<ReadonlyArray<unknown>>`
        UPDATE tessera_records SET version = version + 1, expires = ${expiresAt}, body = ${toText(body)}
        WHERE workspace = ${toBytes(workspace)} AND kind = ${kind} AND id = ${toBytes(id)} AND version = ${expected}
        RETURNING 1`
    ).pipe(Effect.flatMap(oneOrConflict)),

  remove: ({ workspace, kind, id }) =>
    writing(
      () => sql`
        DELETE FROM tessera_records
        WHERE workspace = ${toBytes(workspace)} AND kind = ${kind} AND id = ${toBytes(id)}`
    ).pipe(Effect.asVoid),

  // One more than asked for tells whether a page follows.
  list: ({ workspace, kind, owner, after = "", limit }) =>
    reading(
      () => sql<ReadonlyArray<Row>>`
        SELECT id, owner, version, expires, body FROM tessera_records
        WHERE workspace = ${toBytes(workspace)} AND kind = ${kind} AND owner = ${toBytes(owner)}
          AND id > ${toBytes(after)}
        ORDER BY id LIMIT ${limit + 1}`
    ).pipe(
      Effect.map((rows) => {
        const records = rows.slice(0, limit).map((row) => toRecord({ workspace, kind }, row))
        return { records, next: rows.length > limit ? records.at(-1)?.id : undefined }
      })
    ),

  // `before` is the caller's time. SKIP LOCKED lets two sweeps take different rows, and spares a row that a `replace`
  // is prolonging.
  sweep: (before, limit) =>
    writing(
      () => sql<ReadonlyArray<unknown>>`
        DELETE FROM tessera_records WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM tessera_records WHERE expires <= ${before} LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )) RETURNING 1`
    ).pipe(Effect.map((rows) => rows.length))
})

/** Records in a PostgreSQL that `Bun.sql` reaches. The layer closes the connections. */
export const layer = (url: Redacted.Redacted<string>): Layer.Layer<Storage, StorageUnavailable> =>
  Layer.effect(
    Storage,
    Effect.gen(function* () {
      const sql = yield* Effect.acquireRelease(
        Effect.sync(() => new SQL({ url: Redacted.value(url), connectionTimeout: 3 })),
        (sql) => Effect.promise(() => sql.close({ timeout: 3 }))
      )
      const clock = yield* Clock.Clock
      const writing = askBy(clock, true)
      // A lock, because of two servers that create the table at once one would fail.
      yield* writing(() =>
        sql.begin(async (tx) => {
          await tx`SELECT pg_advisory_xact_lock(7353777)`
          await createTable(tx)
        })
      )
      return verbs(sql, askBy(clock, false), writing)
    })
  )
