import { Effect } from "effect"
import type { PostgresServer } from "../../parts/Part.ts"
import type { Executables } from "../../servers/start.ts"
import { sql } from "../postgresDatabase.ts"
import { firstGrant, startWithOne } from "./startWithOne.ts"

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
WHERE t.workspace = 'default' AND t.id = '${firstGrant}'`
      )
    const half = Math.floor(grants / 2)
    yield* Effect.all([copy(1, half), copy(half + 1, grants - 1)], { concurrency: 2 })
    // Otherwise the database does both by itself, in the middle of what is measured.
    yield* sql(postgres, url, `VACUUM ANALYZE ${table}`)
    yield* sql(postgres, url, "CHECKPOINT")
  })
