import { describe, expect, spyOn, test } from "bun:test"
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import type { Driver } from "../../adapters/sqlite/Connection.ts"
import { connect } from "../../adapters/sqlite/connect.ts"
import { migrate } from "../../adapters/sqlite/migrate.ts"
import { layer } from "../../adapters/sqlite/Sqlite.ts"
import { type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { makeOldFile } from "./sqlite/oldFile.ts"

const inFolder = (body: (folder: string) => Effect.Effect<void, unknown, Scope.Scope>) => () =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(throwawayFolder("sqlite"), body)))

const record: NewRecord = { workspace: "w", kind: "grant", id: "g", owner: "o", expiresAt: null, body: { n: 1 } }

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** The store over a file, for as long as the scope lasts. */
const storageAt = (path: string) =>
  Effect.map(Layer.build(Layer.fresh(layer({ path }))), (built) => Context.get(built, Storage))

/** Makes a file by the hand of another program. */
const written = (path: string, ...statements: ReadonlyArray<string>) =>
  Effect.sync(() => {
    const connection = open(path)
    for (const statement of statements) connection.exec(statement)
    connection.close()
  })

/** Fails unless the file is refused, and left as it was. */
const refused = Effect.fnUntraced(function* (path: string, reason: string) {
  const before = readFileSync(path)
  chmodSync(path, 0o664)
  for (const migrations of ["run", "check"] as const) {
    const refusal = yield* Effect.flip(Effect.scoped(connect(path, migrations)))
    expect(refusal).toMatchObject({ _tag: "DatabaseRefused", reason })
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(modeOf(path)).toBe("664")
  }
  expect(readdirSync(join(path, ".."))).toEqual(["tessera.db"])
})

const isRefused = (store: Storage["Service"], id: string) =>
  Effect.match(store.insert({ ...record, id }), { onFailure: () => true, onSuccess: () => false })

describe("the SQLite file", () => {
  test(
    "takes no more writes where it was removed or replaced, which the next start would not find, until it is back",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        const store = yield* storageAt(path)
        yield* store.insert(record)
        let tried = 0
        const eventually = (refused: boolean) =>
          pollUntil(
            Effect.map(
              Effect.suspend(() => isRefused(store, `${tried++}`)),
              (was) => was === refused
            ),
            10_000
          )
        const moves: ReadonlyArray<() => void> = [() => undefined, () => copyFileSync(join(folder, "aside.db"), path)]
        for (const replace of moves) {
          renameSync(path, join(folder, "aside.db"))
          replace()
          expect(yield* eventually(true)).toBe(true)
          expect(yield* Effect.flip(store.remove(record))).toMatchObject({
            _tag: "StorageUnavailable",
            outcome: "not_done",
            message: expect.stringContaining("was removed or replaced")
          })
          expect(Option.isSome(yield* store.get(record))).toBe(true)
          renameSync(join(folder, "aside.db"), path)
          expect(yield* eventually(false)).toBe(true)
        }
      })
    )
  )

  test(
    "is still in its place where the process has gone to another folder since",
    inFolder((folder) =>
      Effect.gen(function* () {
        const before = process.cwd()
        yield* Effect.addFinalizer(() => Effect.sync(() => process.chdir(before)))
        process.chdir(folder)
        const store = yield* storageAt("tessera.db")
        process.chdir("/")
        const time = performance.now()
        const clock = spyOn(performance, "now").mockImplementation(() => time + 60_000)
        yield* Effect.addFinalizer(() => Effect.sync(() => clock.mockRestore()))
        expect(yield* isRefused(store, "later")).toBe(false)
      })
    )
  )

  test(
    "is for its owner's eyes only, with what stands beside it and the folder that was made for it",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "made", "for it", "tessera.db")
        const umask = process.umask(0)
        yield* Effect.addFinalizer(() => Effect.sync(() => process.umask(umask)))
        const store = yield* storageAt(path)
        yield* store.insert(record)
        for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(path + suffix)).toBe("600")
        expect(modeOf(join(folder, "made"))).toBe("700")
        expect(modeOf(join(folder, "made", "for it"))).toBe("700")
      })
    )
  )

  test(
    "that was left open to others is closed to them",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        // It is in use and was written to, so its log is there.
        const store = yield* storageAt(path)
        yield* store.insert(record)
        for (const mode of [0o644, 0o640, 0o660, 0o604]) {
          for (const suffix of ["", "-wal", "-shm"]) chmodSync(path + suffix, mode)
          yield* Effect.scoped(storageAt(path))
          for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(path + suffix)).toBe("600")
        }
      })
    )
  )

  test(
    "stands alone when the store is closed, with all that was written",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        yield* Effect.scoped(Effect.flatMap(storageAt(path), (store) => store.insert(record)))
        expect(readdirSync(folder)).toEqual(["tessera.db"])
        const found = yield* Effect.scoped(Effect.flatMap(storageAt(path), (store) => store.get(record)))
        expect(Option.getOrThrow(found)).toEqual({ ...record, version: 1 })
      })
    )
  )

  test(
    "is kept so that a commit outlives the power",
    inFolder((folder) =>
      Effect.gen(function* () {
        const connection = yield* connect(join(folder, "tessera.db"))
        expect(connection.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 })
        expect(connection.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" })
        // And so that nothing of it lies in temporary files.
        expect(connection.prepare("PRAGMA temp_store").get()).toEqual({ temp_store: 2 })
      })
    )
  )

  test(
    "finds every record by an index",
    inFolder((folder) =>
      Effect.gen(function* () {
        const connection = yield* connect(join(folder, "tessera.db"))
        const plan = (where: string) =>
          JSON.stringify(connection.prepare(`EXPLAIN QUERY PLAN SELECT * FROM grants ${where}`).all())
        const plans = [
          plan("WHERE workspace = 'w' AND id = 'g'"),
          plan("WHERE workspace = 'w' AND owner = 'o' AND id > 'g' ORDER BY id LIMIT 9"),
          plan("WHERE sweep_at <= 1 ORDER BY sweep_at LIMIT 9"),
          plan("WHERE (workspace, id) > ('w', 'g') ORDER BY workspace, id LIMIT 9")
        ]
        for (const each of plans) {
          expect(each).toContain("SEARCH grants USING INDEX")
          expect(each).not.toContain("TEMP B-TREE")
        }
      })
    )
  )

  test(
    "made by a newer version is refused, and left as it is",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        yield* Effect.scoped(storageAt(path))
        yield* written(path, "PRAGMA user_version = 1000")
        yield* refused(path, "newer")
      })
    )
  )

  test(
    "of an older version is brought up to date, and refused and left as it is where that is only looked for",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        makeOldFile(path)
        chmodSync(path, 0o600)
        const before = readFileSync(path)
        const refusal = yield* Effect.flip(Effect.scoped(connect(path, "check")))
        expect(refusal).toMatchObject({ _tag: "MigrationsPending" })
        expect(refusal.message).toContain("has schema 1")
        expect(readFileSync(path).equals(before)).toBe(true)
        expect(readdirSync(folder)).toEqual(["tessera.db"])

        yield* Effect.scoped(connect(path))
        yield* Effect.scoped(connect(path, "check"))
      })
    )
  )

  test.each([
    ["a table", "CREATE TABLE notes (text)"],
    ["a version", "PRAGMA user_version = 1"],
    ["a name", "PRAGMA application_id = 7"]
  ])("of another program is refused by %s, and left as it is", (_, statement) =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        yield* written(path, statement)
        chmodSync(path, 0o600)
        yield* refused(path, "foreign")
      })
    )()
  )

  const meetings: ReadonlyArray<
    readonly [what: string, meanwhile: (other: Driver) => void, outcome: "Failure" | "Success"]
  > = [
    ["brought up to date", (other) => void migrate(other), "Success"],
    ["made newer", (other) => other.exec("PRAGMA user_version = 1000"), "Failure"]
  ]
  test.each([...meetings])(
    "that was %s while the lock was waited for is looked at again",
    (_what, meanwhile, outcome) =>
      inFolder((folder) =>
        Effect.sync(() => {
          const path = join(folder, "tessera.db")
          const [connection, other] = [open(path), open(path)]
          const exec = (sql: string): void => {
            if (sql === "BEGIN IMMEDIATE") meanwhile(other)
            connection.exec(sql)
          }
          expect(migrate({ ...connection, exec })._tag).toBe(outcome)
          connection.close()
          other.close()
        })
      )()
  )

  test(
    "that could not be brought up to date can be by the next try",
    inFolder((folder) =>
      Effect.sync(() => {
        const connection = open(join(folder, "tessera.db"))
        let failures = 1
        const exec = (sql: string) => {
          if (sql.startsWith("PRAGMA user_version") && failures-- > 0) throw new Error("disk I/O error")
          connection.exec(sql)
        }
        expect(() => migrate({ ...connection, exec })).toThrow("disk I/O error")
        expect(migrate({ ...connection, exec })._tag).toBe("Success")
        connection.close()
      })
    )
  )

  test(
    "that is no database is refused, and left as it is",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "tessera.db")
        writeFileSync(
          path,
          "a letter to the bank, of more than a hundred bytes, so that it can't be an empty file. ".repeat(9)
        )
        chmodSync(path, 0o600)
        yield* refused(path, "foreign")
      })
    )
  )

  test(
    "that can't be opened is named",
    inFolder((folder) =>
      Effect.gen(function* () {
        const path = join(folder, "a folder")
        mkdirSync(path)
        const refusal = yield* Effect.flip(Effect.scoped(connect(path)))
        expect(refusal).toMatchObject({ _tag: "DatabaseRefused", reason: "unopenable" })
        expect(refusal.message).toContain(path)
      })
    )
  )

  test(
    "is at a path: a URL, which some drivers take for the file that it names, is refused and makes nothing",
    inFolder((folder) =>
      Effect.gen(function* () {
        const before = process.cwd()
        yield* Effect.addFinalizer(() => Effect.sync(() => process.chdir(before)))
        process.chdir(folder)
        const refusal = yield* Effect.flip(Effect.scoped(connect("file:data/tessera.db")))
        expect(refusal).toMatchObject({ _tag: "DatabaseRefused", reason: "unopenable" })
        expect(refusal.message).toContain("data/tessera.db")
        expect(readdirSync(folder)).toEqual([])
        yield* Effect.scoped(connect("./file:data/tessera.db"))
        expect(modeOf(join(folder, "file:data", "tessera.db"))).toBe("600")
      })
    )
  )

  test(
    "that is none, because it lives in memory, is refused: nothing keeps a log there",
    inFolder((folder) =>
      Effect.gen(function* () {
        // To the driver it is a word and no path, and what is made for it is made where the process is.
        const before = process.cwd()
        yield* Effect.addFinalizer(() => Effect.sync(() => process.chdir(before)))
        process.chdir(folder)
        const refusal = yield* Effect.flip(Effect.scoped(connect(":memory:")))
        expect(refusal).toMatchObject({ _tag: "DatabaseRefused", reason: "unopenable" })
        expect(refusal.message).toContain("write-ahead log")
      })
    )
  )
})
