import { expect, test } from "bun:test"
import { Effect } from "effect"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { meddler } from "../adapters/postgres/withStore.ts"
import { postgresUrl } from "../harness/given.ts"
import { inFolder } from "../harness/scoped.ts"

import { command } from "./given/tessera.ts"

const sealKey = Buffer.alloc(32, 7).toString("base64url")

test("the doctor says that PostgreSQL acknowledges what a crash would lose", () =>
  inFolder((cwd) =>
    Effect.gen(function* () {
      const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
      const env = { DATABASE_URL: url, SEAL_KEYS: sealKey }
      expect((yield* command(["migrate"], { cwd, env })).status).toBe(0)
      const doubts = Effect.map(command(["doctor", "--json"], { cwd, env }), ({ stdout }) =>
        (JSON.parse(stdout) as ReadonlyArray<Readonly<Record<string, string>>>).filter(
          ({ state, what }) => what === "storage" && state === "doubtful"
        )
      )
      expect(yield* doubts).toEqual([])
      const other = yield* meddler(url)
      const set = (value: string) =>
        other.say(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit TO ${value}`)
      yield* set("off")
      expect(yield* doubts).toMatchObject([{ says: expect.stringContaining("synchronous_commit") }])
      yield* set("local")
      expect(yield* doubts).toEqual([])
    }).pipe(Effect.scoped)
  ))
