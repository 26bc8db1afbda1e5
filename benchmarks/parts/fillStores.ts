import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { commandRedis } from "../measure/commandRedis.ts"
import { freshRedis } from "../measure/freshRedis.ts"
import { manyInPostgres } from "../measure/manyGrants/inPostgres.ts"
import { manyInRedis } from "../measure/manyGrants/inRedis.ts"
import { manyInSqlite } from "../measure/manyGrants/inSqlite.ts"
import { copyDatabase, freshDatabase } from "../measure/postgresDatabase.ts"
import type { PostgresServer, RedisServer, Setting } from "./Part.ts"

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
