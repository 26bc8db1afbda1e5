import { Database } from "bun:sqlite"
import { Effect } from "effect"
import type { Executables } from "../../servers/start.ts"
import { firstGrant, startWithOne } from "./startWithOne.ts"

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
      copy.run({ $from: from, $below: Math.min(grants, from + atOnce), $first: firstGrant })
    }
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
  })
