import { expect, test } from "bun:test"
import { Effect } from "effect"
import { copyDatabase, freshDatabase, type PostgresServer, sql } from "../../benchmarks/measure/services.ts"
import { postgresBin } from "../harness/given.ts"
import { scoped } from "../harness/scoped.ts"
import { startPostgres } from "../harness/startPostgres.ts"

const look = (postgres: PostgresServer) =>
  Effect.gen(function* () {
    const url = yield* freshDatabase(postgres, "stores")
    const copy = yield* copyDatabase(postgres, "stores", "programs")
    const tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
    const found = [yield* sql(postgres, url, tables), yield* sql(postgres, copy, tables)]
    for (const database of [url, copy]) yield* sql(postgres, database, "CREATE TABLE left_over (n int)")
    return found
  })

test("another look at a part finds its databases as empty as the first did", () =>
  scoped(function* () {
    const bin = postgresBin()
    const postgres = { bin, server: yield* startPostgres({ bin }) }
    expect([yield* look(postgres), yield* look(postgres)]).toEqual([
      ["0", "0"],
      ["0", "0"]
    ])
  }))
