import { describe, expect, test } from "bun:test"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Fiber, Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../adapters/guide/BunSql.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { storageLaws } from "../../core/testing/StorageConformance.ts"
import { postgresUrl } from "../harness/given.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { startPostgres } from "../harness/startPostgres.ts"
import { blocksOf, house } from "../readme/blocks.ts"
import { guide, guideFiles, source } from "../readme/guideFiles.ts"
import { freshDatabase, tell } from "./postgres/freshDatabase.ts"
import { key, record } from "./postgres/withStore.ts"
import { seed } from "./seed.ts"

describe("the store of the guide", () => {
  test("is under 150 lines", () => {
    expect(source.trimEnd().split("\n").length).toBeLessThan(150)
  })
})

const inDatabase = <A, E>(body: (url: string) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.acquireRelease(
        Effect.suspend(() => freshDatabase(postgresUrl())),
        ({ drop }) => drop
      ).pipe(Effect.flatMap(({ url }) => body(url)))
    )
  )

const opened = (url: string) =>
  Effect.map(Layer.build(Layer.fresh(layer(Redacted.make(url)))), (context) => Context.get(context, Storage))

describe("what its database does to it", () => {
  test("eight that start at once over an empty database all start", () =>
    inDatabase((url) =>
      Effect.gen(function* () {
        const stores = yield* Effect.forEach(Array.from({ length: 8 }), () => opened(url), { concurrency: 8 })
        for (const store of stores) expect((yield* store.get(key("a")))._tag).toBe("None")
      })
    ))

  test("a word of the server's that nothing was done is passed on, without what was stored", () =>
    inDatabase((url) =>
      Effect.gen(function* () {
        const store = yield* opened(url)
        yield* tell(url, "ALTER TABLE tessera_records ADD CHECK (body NOT LIKE '%wrong%')")
        const refused = yield* Effect.flip(store.insert(record("a", { secret: "wrong" })))
        expect(refused).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done", message: "PostgreSQL: 23514" })
        yield* tell(url, "DROP TABLE tessera_records")
        expect(yield* Effect.flip(store.get(key("a")))).toMatchObject({ outcome: "not_done" })
      })
    ))

  test("a server that stands still, or dies, leaves a write's outcome unknown and a read not done", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const server = yield* startPostgres()
          const store = yield* opened(server.url)
          yield* store.insert(record("a"))

          yield* server.freeze
          const write = yield* Effect.forkChild(Effect.flip(store.insert(record("b"))), { startImmediately: true })
          const read = yield* Effect.forkChild(Effect.flip(store.get(key("a"))), { startImmediately: true })
          yield* TestClock.adjust("5 seconds")
          expect(yield* Fiber.join(write)).toMatchObject({ outcome: "unknown", message: "PostgreSQL: no answer" })
          expect(yield* Fiber.join(read)).toMatchObject({ outcome: "not_done" })
          yield* server.thaw

          yield* server.kill
          expect(yield* Effect.flip(store.replace(1, record("a")))).toMatchObject({ outcome: "unknown" })
          expect(yield* Effect.flip(store.get(key("a")))).toMatchObject({ outcome: "not_done" })
        }).pipe(Effect.provide(TestClock.layer()))
      )
    ))
})

describe("the guide", () => {
  const [block, ...more] = blocksOf(guide)

  test("has one block, which is a file beside the adapter", () => {
    expect(more).toEqual([])
    expect(block?.language).toBe("ts")
    expect(block?.text).toStartWith("// store.test.ts\n")
    expect(guide).toContain(`${storageLaws(1).length} laws`)
  })

  // Their types are checked with those of all that is printed: `test/readme/embedding.test.ts`.
  test(
    "proves the adapter in a project of its own, as both are printed",
    () =>
      inDatabase((url) =>
        Effect.gen(function* () {
          // In the house, so that `tessera/core` is this very package.
          const folder = join(house, "test/readme", `pasted-guide-${process.pid}`)
          yield* Effect.acquireRelease(
            Effect.sync(() => mkdirSync(folder)),
            () => Effect.sync(() => rmSync(folder, { recursive: true }))
          )
          expect(guideFiles["BunSql.ts"]).not.toContain('"..')
          for (const [name, text] of Object.entries(guideFiles)) writeFileSync(join(folder, name), text)

          const env = { ...plainEnvironment, DATABASE_URL: url, SEED: String(seed) }
          const proven = yield* runProgram(process.execPath, ["test", join(folder, "store.test.ts")], { env })
          expect(proven.stderr).toContain(`${storageLaws(1).length + 1} pass\n 0 fail`)
          expect(proven.stdout).toContain(`SEED=${seed}`)
          expect(proven.status).toBe(0)
        })
      ),
    120_000
  )
})
