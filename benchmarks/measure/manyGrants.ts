import { Database } from "bun:sqlite"
import { Effect } from "effect"
import type { PostgresServer } from "../parts/Part.ts"
import { type Executables, tessera } from "../servers/start.ts"
import { grantIdAt } from "../servers/tessera/grants.ts"
import { sql } from "./databaseUrl.ts"

/**
 * Many grants out of one: the server writes the first by its own verbs, and the database copies the row with another
 * id and another user in each. By the verbs alone, a million takes minutes.
 */
const first = grantIdAt(0)
const startWithOne = (executables: Executables, store: string) =>
  Effect.scoped(tessera(executables, { store, grants: 1 }))

/** Takes no fsync for each of them, nor a log as long as all of them. */
const atOnce = 100_000

export const manyInSqlite = (executables: Executables, path: string, grants: number) =>
  Effect.gen(function* () {
    yield* startWithOne(executables, `sqlite:${path}`)
    const database = new Database(path)
    database.run("PRAGMA synchronous = OFF")
    const copy = database.query(`WITH RECURSIVE numbers(n, id) AS (
  SELECT $from, printf('%021dA', $from)
  UNION ALL SELECT n + 1, printf('%021dA', n + 1) FROM numbers WHERE n + 1 < $below
)
INSERT INTO grants (workspace, id, owner, version, expires_at, body, sweep_at)
SELECT t.workspace, numbers.id, 'user:user-' || n, t.version, t.expires_at,
  replace(replace(t.body, t.id, numbers.id), '"user-0"', '"user-' || n || '"'), t.sweep_at
FROM numbers, grants t WHERE t.workspace = 'default' AND t.id = $first`)
    for (let from = 1; from < grants; from += atOnce) {
      copy.run({ $from: from, $below: Math.min(grants, from + atOnce), $first: first })
    }
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
  })

export const manyInPostgres = (executables: Executables, postgres: PostgresServer, url: string, grants: number) =>
  Effect.gen(function* () {
    yield* startWithOne(executables, url)
    const table = "tessera.grants"
    const copy = (from: number, to: number) =>
      sql(
        postgres,
        url,
        `INSERT INTO ${table} (workspace, id, owner, version, expires, body)
SELECT t.workspace, numbers.id, 'user:user-' || n, t.version, t.expires,
  replace(replace(t.body::text, t.id, numbers.id), '"user-0"', '"user-' || n || '"')::jsonb
FROM ${table} t, (SELECT n, lpad(n::text, 21, '0') || 'A' AS id FROM generate_series(${from}, ${to}) n) numbers
WHERE t.workspace = 'default' AND t.id = '${first}'`
      )
    const half = Math.floor(grants / 2)
    yield* Effect.all([copy(1, half), copy(half + 1, grants - 1)], { concurrency: 2 })
    // Otherwise the database does both by itself, in the middle of what is measured.
    yield* sql(postgres, url, `VACUUM ANALYZE ${table}`)
    yield* sql(postgres, url, "CHECKPOINT")
  })
