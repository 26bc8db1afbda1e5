import { Database } from "bun:sqlite"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { lineOf, ownerKey, pathOf, placeOf } from "../../adapters/redis/RecordPlace.ts"
import { type Head, parseHead } from "../../adapters/redis/StoredValue.ts"
import { runProgram } from "../../test/harness/runProgram.ts"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import type { Setting } from "../parts/Part.ts"
import { type Executables, tessera } from "../servers/start.ts"
import { grantIdAt } from "../servers/tessera/grants.ts"
import { BenchFailed } from "./processes.ts"
import type { PostgresServer, RedisServer } from "./services.ts"
import { commandRedis, copyDatabase, freshDatabase, freshRedis, sql } from "./services.ts"

const firstGrant = grantIdAt(0)

/**
 * Many grants are made out of one: the server writes the first by its own verbs, and the database takes copies of it
 * with another id and another user in each. By the verbs alone, a million takes minutes.
 */
const startWithOne = (executables: Executables, store: string) =>
  Effect.scoped(tessera(executables, { store, grants: 1 }))

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

const prefix = "tessera"
const kept = { workspace: "default", kind: "grant" } as const
const userAt = (n: number) => `user-${n}`
const firstUser = userAt(0)
const placeFor = (id: string) => placeOf(prefix, pathOf({ ...kept, id }))

/** As Redis reads a command. All of it is ASCII. */
const command = (...words: ReadonlyArray<string>): string =>
  words.reduce((text, word) => `${text}$${word.length}\r\n${word}\r\n`, `*${words.length}\r\n`)

interface Original {
  readonly value: string
  readonly head: Head
  /** In ms. */
  readonly lifetime: string
}

const numbersByShard = (grants: number): Iterable<ReadonlyArray<number>> => {
  const shards = new Map<string, Array<number>>()
  for (let n = 1; n < grants; n++) {
    const { shard } = placeFor(grantIdAt(n))
    const numbers = shards.get(shard)
    if (numbers === undefined) shards.set(shard, [n])
    else numbers.push(n)
  }
  return shards.values()
}

/** Of each what an insert leaves there: the record, its line in its owner's list, and its place in its shard's index. */
function* copiesOf({ head, lifetime, value }: Original, grants: number): Generator<string> {
  // Cut once, because there are a million to put together.
  const pieces = value.split(firstGrant).map((piece) => piece.split(firstUser))
  for (const numbers of numbersByShard(grants)) {
    let written = ""
    const index: Array<string> = []
    for (const n of numbers) {
      const id = grantIdAt(n)
      const user = userAt(n)
      const { path, record, shard } = placeFor(id)
      written += command("SET", record, pieces.map((piece) => piece.join(user)).join(id), "PX", lifetime)
      written += command("ZADD", ownerKey(prefix, { ...kept, owner: `user:${user}` }), "0", lineOf(id, head.entry))
      if (index.length === 0) index.push("ZADD", shard)
      index.push(`${head.expiresAt}`, path)
    }
    yield written + command(...index)
  }
}

export const manyInRedis = (executables: Executables, redis: RedisServer, grants: number) =>
  Effect.gen(function* () {
    yield* startWithOne(executables, redis.server.url)
    const { record } = placeFor(firstGrant)
    const value = yield* commandRedis(redis, "GET", record)
    const lifetime = yield* commandRedis(redis, "PTTL", record)
    const head = yield* Effect.fromResult(parseHead(value.slice(0, value.indexOf("\n"))))
    const input = copiesOf({ value, head, lifetime }, grants)
    const { status, stdout, stderr } = yield* runProgram(redis.cli, ["-p", `${redis.server.port}`, "--pipe"], { input })
    if (status !== 0) return yield* new BenchFailed({ message: `Redis took no copies: ${stdout}${stderr}` })
  })

/** Takes no fsync for each of them, nor a log as long as all of them. */
const atOnce = 100_000

const manyInSqlite = (executables: Executables, path: string, grants: number) =>
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

/** Made by processes that then end, so that what filling takes is not in the memory of what is measured. */
export const millionInSqlite = (
  executables: Executables,
  say: (line: string) => void
): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.gen(function* () {
    say("a million grants in SQLite")
    const file = join(yield* throwawayFolder("bench-million"), "tessera.db")
    yield* manyInSqlite(executables, file, 1_000_000)
    return `sqlite:${file}`
  })

/**
 * The same grants for everybody, and for each of those who swap some rows of their own: a server would find versions
 * that somebody else has written, as one process alone never does, and would pay for them in its next turn.
 */
export const fillStores = Effect.fnUntraced(function* (
  setting: Setting,
  postgres: PostgresServer,
  redis: RedisServer,
  grants: number
) {
  const folder = yield* throwawayFolder("bench-sqlite")
  const file = (name: string) => join(folder, `${name}.db`)
  yield* manyInSqlite(setting, file("tessera"), grants)
  for (const name of ["programs", "floor"]) copyFileSync(file("tessera"), file(name))

  const database = yield* freshDatabase(postgres, "stores")
  yield* manyInPostgres(setting, postgres, database, grants)
  const programs = yield* copyDatabase(postgres, "stores", "programs")

  const records = yield* freshRedis(redis)
  yield* manyInRedis(setting, redis, grants)
  yield* commandRedis(redis, "SWAPDB", "0", "1")
  yield* manyInRedis(setting, redis, grants)

  return {
    tessera: { sqlite: `sqlite:${file("tessera")}`, postgres: database, redis: records },
    programs: { sqlite: `sqlite:${file("programs")}`, postgres: programs },
    // Over PostgreSQL it only reads.
    floor: { sqlite: `sqlite:${file("floor")}`, postgres: programs, redis: `${records}/1` }
  }
})
