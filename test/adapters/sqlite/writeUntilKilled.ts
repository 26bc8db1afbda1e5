import { writeSync } from "node:fs"
import { Effect } from "effect"
import { layer } from "../../../adapters/sqlite/Sqlite.ts"
import { Storage } from "../../../core/ports/Storage.ts"
import { workspace } from "./sharedFile.ts"

/** Writes records from 16 fibers, and says each write that was acknowledged: `ID VERSION`, a line each. */
const [path = "", name = ""] = process.argv.slice(2)

const say = (id: string, version: number) => Effect.sync(() => writeSync(1, `${id} ${version}\n`))

const write = (fiber: number) =>
  Effect.gen(function* () {
    const store = yield* Storage
    for (let n = 0; ; n++) {
      const id = `${name}-${fiber}-${n}`
      const record = { workspace, kind: "grant", id, owner: name, expiresAt: 4e12, body: { id, version: 1 } } as const
      yield* store.insert(record)
      yield* say(id, 1)
      for (let version = 1; version < 4; version++) {
        yield* store.replace(version, { ...record, body: { id, version: version + 1 } })
        yield* say(id, version + 1)
      }
    }
  })

await Effect.runPromise(
  Effect.forEach(Array.from({ length: 16 }).keys(), write, { concurrency: "unbounded" }).pipe(
    Effect.provide(layer({ path }))
  )
)
