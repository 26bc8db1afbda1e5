import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Option, Scope } from "effect"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import { layer, layerTrusting } from "../../adapters/sqlite/Sqlite.ts"
import { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"

const key = { workspace: "w", kind: "grant", id: "g" } as const
const listing = { workspace: "w", kind: "grant", owner: "o", after: undefined, limit: 10 } as const
const record = { ...key, owner: "o", expiresAt: null, body: { n: 1 } } as const

const inFile = (body: (path: string) => Effect.Effect<void, unknown, Scope.Scope>) => () =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(throwawayFolder("sqlite"), (folder) => body(join(folder, "tessera.db"))))
  )

describe("reads of a SQLite file, for a caller that is trusted,", () => {
  test(
    "are done when they are asked for",
    inFile((path) =>
      Effect.gen(function* () {
        const services = yield* Layer.build(layerTrusting({ path }))
        const store = Context.get(services, Storage)
        expect(store.get(key)).toEqual(Exit.succeed(Option.none()))
        yield* store.insert(record)
        const stored = { ...record, version: 1 }
        expect(store.get(key)).toEqual(Exit.succeed(Option.some(stored)))
        const page = { records: [stored], next: undefined }
        expect(store.list(listing)).toEqual(Exit.succeed(page))
        expect(Context.get(services, StorageScan).scan("grant", undefined, 10)).toEqual(Exit.succeed(page))
      })
    )
  )

  test(
    "see what another process has committed before",
    inFile((path) =>
      Effect.gen(function* () {
        const store = Context.get(yield* Layer.build(layerTrusting({ path })), Storage)
        yield* store.insert(record)
        const other = open(path)
        for (let version = 2; version < 10; version++) {
          other.exec("UPDATE grants SET version = version + 1")
          // All of it is one turn.
          expect(Option.getOrThrow(Effect.runSync(store.get(key))).version).toBe(version)
        }
        other.close()
      })
    )
  )

  test(
    "fail as not done, and throw nothing, once the store is closed",
    inFile((path) =>
      Effect.gen(function* () {
        const scope = Scope.makeUnsafe()
        const services = yield* Layer.buildWithScope(layerTrusting({ path }), scope)
        yield* Scope.close(scope, Exit.void)
        const store = Context.get(services, Storage)
        const reads: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          store.get(key),
          store.list(listing),
          Context.get(services, StorageScan).scan("grant", undefined, 1)
        ]
        for (const read of reads) {
          expect(Exit.isExit(read)).toBe(true)
          expect(yield* Effect.flip(read)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        }
      })
    )
  )
})

test(
  "for any other caller they are done each time that the effect runs",
  inFile((path) =>
    Effect.gen(function* () {
      const store = Context.get(yield* Layer.build(layer({ path })), Storage)
      const read = store.get(key)
      yield* store.insert(record)
      expect(Option.isSome(yield* read)).toBe(true)
      yield* store.remove(key)
      expect(yield* read).toEqual(Option.none())
    })
  )
)
