import { expect, test } from "bun:test"
import { Effect } from "effect"
import { freshDatabase, tell } from "../adapters/postgres/freshDatabase.ts"
import { openStore } from "../adapters/postgres/withStore.ts"
import { postgresUrl } from "../harness/given.ts"
import { scoped } from "../harness/scoped.ts"
import { everyBlock } from "./blocks.ts"

const queries = everyBlock().filter(({ language, marker }) => language === "sql" && marker === "")

test("queries run as they are printed, on the tables that a start makes", () =>
  scoped(function* () {
    const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
    yield* openStore(url)
    expect(queries.length).toBeGreaterThan(0)
    for (const { text } of queries) yield* tell(url, text)
  }))
