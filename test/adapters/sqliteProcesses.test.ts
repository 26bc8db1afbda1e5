import { describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, Option } from "effect"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { runProgram } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { seed } from "./seed.ts"
import { program, runtimes } from "./sqlite/runtimes.ts"
import { counter, workspace } from "./sqlite/sharedFile.ts"

const minute = 60_000

const withFile = <A, E>(body: (path: string) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(throwawayFolder("sqlite"), (folder) => body(join(folder, "tessera.db"))))
  )

const reopened = <A, E>(path: string, use: Effect.Effect<A, E, Storage>) =>
  Effect.provide(use, layer({ path }), { local: true })

const run = (runtime: (typeof runtimes)[number], name: string, ...args: ReadonlyArray<string>) => {
  const [command, ...options] = runtime[1]()
  return runProgram(command, [...options, program(name), ...args])
}

/** Twice each runtime, all at once. */
const crowd = [...runtimes, ...runtimes]

describe.each(runtimes)("the store in a SQLite file on %s", (...runtime) => {
  test(
    "keeps every law",
    () =>
      withFile((path) =>
        Effect.gen(function* () {
          const { status, stdout, stderr } = yield* run(runtime, "runLaws", path, `${seed}`)
          expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
          const told: ReadonlyArray<unknown> = stdout
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
          const names = [...storageLaws(seed), ...storageScanLaws(seed)].map(({ name }) => name)
          expect(told).toEqual(names.map((name) => ({ name, broken: null })))
        })
      ),
    minute
  )
})

test(
  "processes that add to one counter lose no addition",
  () =>
    withFile((path) =>
      Effect.gen(function* () {
        yield* reopened(
          path,
          Effect.flatMap(Storage, (store) => store.insert({ ...counter, owner: "all", expiresAt: null, body: 0 }))
        )
        const ended = yield* Effect.forEach(crowd, (runtime) => run(runtime, "increment", path, "25"), {
          concurrency: "unbounded"
        })
        expect(ended.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
          crowd.map(() => ({ status: 0, stderr: "" }))
        )
        const found = yield* reopened(
          path,
          Effect.flatMap(Storage, (store) => store.get(counter))
        )
        expect(Option.getOrThrow(found)).toMatchObject({ body: 400, version: 401 })
      })
    ),
  minute
)

test(
  "processes that start at once on no file all find it made, and made once",
  () =>
    withFile((path) =>
      Effect.gen(function* () {
        const ended = yield* Effect.forEach(
          crowd,
          (runtime, index) => run(runtime, "arrive", path, `process-${index}`),
          {
            concurrency: "unbounded"
          }
        )
        expect(ended.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
          crowd.map(() => ({ status: 0, stderr: "" }))
        )
        const { records } = yield* reopened(
          path,
          Effect.flatMap(Storage, (store) =>
            store.list({ workspace, kind: "account", owner: "arrivals", after: undefined, limit: 100 })
          )
        )
        expect(records.map(({ id }) => id)).toEqual(crowd.map((_, index) => `process-${index}`))
      })
    ),
  minute
)

/** Runs the writer, kills it -9 once it has said so many lines, and gives what it had said. */
const killedAfter = (runtime: (typeof runtimes)[number], lines: number, path: string, name: string) =>
  Effect.callback<ReadonlyArray<string>>((resume) => {
    const [command, ...options] = runtime[1]()
    const child = spawn(command, [...options, program("writeUntilKilled"), path, name], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const told: Array<string> = []
    const reader = createInterface({ input: child.stdout })
    reader.on("line", (line) => {
      told.push(line)
      if (told.length === lines) child.kill("SIGKILL")
    })
    reader.on("close", () => resume(Effect.succeed(told)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

test(
  "whatever a writer had acknowledged when it was killed with -9 is there when the file is opened again",
  () =>
    withFile((path) =>
      Effect.gen(function* () {
        const draw = drawFrom(`kill/${seed}`)
        const acknowledged = new Map<string, number>()
        for (const [index, runtime] of [...crowd, ...crowd].entries()) {
          const lines = 20 + draw.below(400)
          const told = yield* killedAfter(runtime, lines, path, `writer-${index}`)
          expect(told.length, `seed ${seed}`).toBeGreaterThanOrEqual(lines)
          for (const line of told) {
            const [id, version] = line.split(" ")
            // The last line may have been cut by the kill.
            if (id !== undefined && version !== undefined && version !== "") acknowledged.set(id, Number(version))
          }
          const lost = yield* reopened(
            path,
            Effect.flatMap(Storage, (store) =>
              Effect.filter([...acknowledged], ([id, version]) =>
                Effect.map(store.get({ workspace, kind: "grant", id }), (found) => {
                  const record = Option.getOrUndefined(found)
                  const whole = JSON.stringify(record?.body) === JSON.stringify({ id, version: record?.version })
                  return record === undefined || record.version < version || !whole
                })
              )
            )
          )
          expect(lost, `seed ${seed}`).toEqual([])
        }
      })
    ),
  2 * minute
)
