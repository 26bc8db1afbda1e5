import { describe, expect, test } from "bun:test"
import { createServer, connect as dial, type Socket } from "node:net"
import { Context, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { open } from "../../adapters/sqlite/bunConnection.ts"
import type { Connection } from "../../adapters/sqlite/Connection.ts"
import { connect } from "../../adapters/sqlite/connect.ts"
import { makeSqlite } from "../../adapters/sqlite/SqliteStorage.ts"
import { Conflict, type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { inFile } from "../harness/scoped.ts"
import { roundsDuring } from "./roundsDuring.ts"

const recordOf = (n: number, body: NewRecord["body"] = { n }): NewRecord => ({
  workspace: "w",
  kind: "grant",
  id: `grant-${n}`,
  owner: "o",
  expiresAt: null,
  body
})

const storeOver = (connection: Connection) => Effect.map(makeSqlite(connection), Context.get(Storage))

const all = { concurrency: "unbounded" } as const

const many = Array.from({ length: 64 }, (_, n) => n)

/** Once all that has arrived has had its turn. */
const round = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** The connection, and what it did: each COMMIT is noted when it has returned. */
const watched = (connection: Connection, notes: Array<string>): Connection => ({
  ...connection,
  prepare: (sql) => {
    const statement = connection.prepare(sql)
    if (sql !== "COMMIT") return statement
    return {
      ...statement,
      run: () => {
        const changed = statement.run()
        notes.push("committed")
        return changed
      }
    }
  }
})

describe("writes to a SQLite file", () => {
  test(
    "that arrive together share one transaction, and none is acknowledged before it is committed",
    inFile(function* (path) {
      const notes: Array<string> = []
      const store = yield* storeOver(watched(yield* connect(path), notes))
      const inserts = many.map((n) =>
        Effect.andThen(
          store.insert(recordOf(n)),
          Effect.sync(() => notes.push("acknowledged"))
        )
      )
      const removals = many.map((n) =>
        Effect.andThen(
          store.remove(recordOf(n)),
          Effect.sync(() => notes.push("acknowledged"))
        )
      )
      yield* Effect.all(inserts, all)
      // The first of a crowd could not know.
      const [, ...others] = many
      expect(notes.splice(0)).toEqual(["committed", "acknowledged", "committed", ...others.map(() => "acknowledged")])
      yield* Effect.all(removals, all)
      expect(notes).toEqual(["committed", ...many.map(() => "acknowledged")])
    })
  )

  test(
    "that arrive over 64 sockets share transactions too",
    inFile(function* (path) {
      const notes: Array<string> = []
      const store = yield* storeOver(watched(yield* connect(path), notes))
      const rounds = 20
      yield* Effect.forEach(many, (n) => store.insert(recordOf(n)), all)
      notes.length = 0

      // Each byte that comes asks for one write of the record of its value; the same byte answers.
      const versions = new Map<number, number>()
      const serve = (socket: Socket) =>
        socket.on("data", (bytes) => {
          for (const n of Buffer.from(bytes)) {
            const version = versions.get(n) ?? 1
            versions.set(n, version + 1)
            Effect.runFork(
              Effect.andThen(
                store.replace(version, recordOf(n)),
                Effect.sync(() => socket.write(Buffer.from([n])))
              )
            )
          }
        })
      const port = yield* Effect.callback<number>((resume) => {
        const server = createServer(serve).listen(0, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
          server.unref()
        })
      })
      const client = (n: number) =>
        Effect.callback<void>((resume) => {
          let answers = 0
          const socket = dial(port, "127.0.0.1", () => socket.write(Buffer.from([n])))
          socket.on("data", () => {
            if (++answers < rounds) socket.write(Buffer.from([n]))
            else socket.end(() => resume(Effect.void))
          })
        })
      yield* Effect.forEach(many, client, all)

      for (const n of many) {
        expect(Option.getOrThrow(yield* store.get(recordOf(n))).version).toBe(rounds + 1)
      }
      expect(notes.length * 4).toBeLessThanOrEqual(many.length * rounds)
    })
  )

  test(
    "that come alone are committed where they are done, and where they are asked for if the store may",
    inFile(function* (path) {
      const notes: Array<string> = []
      const connection = watched(yield* connect(path), notes)
      const store = yield* storeOver(connection)
      const lone = store.insert(recordOf(1))
      yield* round
      expect(notes).toEqual([])
      expect(Effect.runSyncExit(lone)).toEqual(Exit.void)
      expect(notes).toEqual(["committed"])

      const asked = Context.get(yield* makeSqlite(connection, (work) => work()), Storage)
      yield* round
      expect(asked.replace(1, recordOf(1))).toEqual(Exit.void)
      yield* round
      expect(asked.replace(1, recordOf(1))).toEqual(Exit.fail(new Conflict()))
      expect(notes).toEqual(["committed", "committed", "committed"])
    })
  )

  test(
    "that come alone after a crowd wait for company, but for one turn only",
    inFile(function* (path) {
      const store = yield* storeOver(yield* connect(path))
      yield* Effect.forEach(many, (n) => store.insert(recordOf(n)), all)
      yield* round
      const late = yield* Effect.forkChild(store.replace(1, recordOf(1)), { startImmediately: true })
      expect(late.pollUnsafe()).toBe(undefined)
      yield* Fiber.join(late)
      expect(Effect.runSyncExit(store.replace(1, recordOf(2)))).toEqual(Exit.void)
    })
  )

  test(
    "that one caller makes one after the other leave all others a turn",
    inFile(function* (path) {
      const store = yield* storeOver(yield* connect(path))
      const numbers = Array.from({ length: 300 }, (_, n) => n)
      const rounds = yield* roundsDuring(Effect.forEach(numbers, (n) => store.insert(recordOf(n))))
      expect(rounds).toBeGreaterThanOrEqual(100)
    })
  )

  test(
    "that come alone do not ask for a lock that others wait for",
    inFile((path) =>
      Effect.gen(function* () {
        const connection = yield* connect(path)
        let asked = 0
        const store = yield* storeOver({
          ...connection,
          prepare: (sql) => {
            const statement = connection.prepare(sql)
            const run = () => {
              asked++
              return statement.run()
            }
            return sql === "BEGIN IMMEDIATE" ? { ...statement, run } : statement
          }
        })
        const other = open(path)
        other.exec("BEGIN IMMEDIATE")
        const waiting = yield* Effect.forkChild(store.insert(recordOf(1)), { startImmediately: true })
        while (asked < 2) yield* round
        const behind = yield* Effect.forkChild(store.insert(recordOf(2)), { startImmediately: true })
        expect(asked).toBe(2)
        other.exec("COMMIT")
        other.close()
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(waiting)
        yield* Fiber.join(behind)
        yield* round
        expect(Effect.runSyncExit(store.insert(recordOf(3)))).toEqual(Exit.void)
      }).pipe(Effect.provide(TestClock.layer()))
    )
  )

  test(
    "keep to their order within a transaction",
    inFile(function* (path) {
      const store = yield* storeOver(yield* connect(path))
      const answers = yield* Effect.all(
        [
          store.insert(recordOf(1)),
          store.replace(1, recordOf(1, "second")),
          store.replace(1, recordOf(1, "late")),
          store.remove(recordOf(1)),
          store.insert(recordOf(1, "again"))
        ].map((write) => Effect.exit(write)),
        all
      )
      expect(answers.map((answer) => answer._tag)).toEqual(["Success", "Success", "Failure", "Success", "Success"])
      expect(Option.getOrThrow(yield* store.get(recordOf(1)))).toMatchObject({ body: "again", version: 1 })
    })
  )

  test(
    "that don't fit on the disk were not done, and take no other with them",
    inFile(function* (path) {
      const connection = yield* connect(path)
      const store = yield* storeOver(connection)
      yield* Effect.forEach([1, 2, 3], (n) => store.insert(recordOf(n)))
      connection.exec("PRAGMA max_page_count = 1")

      const large = { ...recordOf(4), body: "x".repeat(200_000) }
      const [first, second, third] = yield* Effect.all(
        [
          Effect.exit(store.replace(1, recordOf(1, "new"))),
          Effect.flip(store.insert(large)),
          Effect.exit(store.replace(1, recordOf(2, "new")))
        ],
        all
      )
      expect(second).toMatchObject({ outcome: "not_done", message: "SQLite: database or disk is full" })
      expect([first, third]).toEqual([Exit.void, Exit.void])
      expect(yield* store.get(large)).toEqual(Option.none())
      expect(Option.getOrThrow(yield* store.get(recordOf(2)))).toMatchObject({ body: "new", version: 2 })

      connection.exec("PRAGMA max_page_count = 100000")
      yield* store.insert(large)
      expect(Option.getOrThrow(yield* store.get(large)).body).toBe(large.body)
    })
  )

  test(
    "that SQLite refuses leave no transaction behind, alone or in a crowd",
    inFile(function* (path) {
      const connection = yield* connect(path)
      const store = yield* storeOver(connection)
      // Of this kind of failure SQLite takes back the statement, and not the transaction.
      connection.exec(`CREATE TEMP TRIGGER refusing BEFORE INSERT ON grants WHEN new.id = 'grant-2'
          BEGIN SELECT RAISE(ABORT, 'refused'); END`)
      const refused = { outcome: "not_done", message: "SQLite: refused" }
      expect(yield* Effect.flip(store.insert(recordOf(2)))).toMatchObject(refused)
      const [first, second, third] = yield* Effect.all(
        [
          Effect.exit(store.insert(recordOf(1))),
          Effect.flip(store.insert(recordOf(2))),
          Effect.exit(store.insert(recordOf(3)))
        ],
        all
      )
      expect(second).toMatchObject(refused)
      expect([first, third]).toEqual([Exit.void, Exit.void])
      const other = yield* storeOver(yield* connect(path))
      expect(Option.isSome(yield* other.get(recordOf(3)))).toBe(true)
      expect(yield* other.get(recordOf(2))).toEqual(Option.none())
    })
  )

  test(
    "wait for another process that is writing, and let reads go on",
    inFile(function* (path) {
      const store = yield* storeOver(yield* connect(path))
      yield* store.insert(recordOf(1))
      const other = open(path)
      other.exec("BEGIN IMMEDIATE")
      const waiting = yield* Effect.forkChild(store.replace(1, recordOf(1, "new")), { startImmediately: true })
      for (let rounds = 0; rounds < 5; rounds++) {
        yield* round
        expect(Option.getOrThrow(yield* store.get(recordOf(1))).version).toBe(1)
      }
      expect(waiting.pollUnsafe()).toBe(undefined)
      other.exec("COMMIT")
      yield* Fiber.join(waiting)
      expect(Option.getOrThrow(yield* store.get(recordOf(1))).version).toBe(2)
      other.close()
    })
  )

  test(
    "wait for another process that brings the log back after a crash",
    inFile(function* (path) {
      const connection = yield* connect(path)
      // SQLITE_BUSY_RECOVERY: what it says of the lock is in the lowest byte, and beside it why.
      const busyRecovery = 261
      let left = 3
      const store = yield* storeOver({
        ...connection,
        prepare: (sql) => {
          const statement = connection.prepare(sql)
          const run = () => {
            if (left-- > 0) throw new Error("database is locked")
            return statement.run()
          }
          return sql === "BEGIN IMMEDIATE" ? { ...statement, run } : statement
        },
        resultCode: () => busyRecovery
      })
      yield* store.insert(recordOf(1))
      expect(Option.isSome(yield* store.get(recordOf(1)))).toBe(true)
    })
  )

  test(
    "were not done when another process keeps writing past the deadline",
    inFile((path) =>
      Effect.gen(function* () {
        const connection = yield* connect(path)
        const store = yield* storeOver(connection)
        connection.exec("PRAGMA busy_timeout = 0")
        const other = open(path)
        other.exec("BEGIN IMMEDIATE")
        const waiting = yield* Effect.forkChild(Effect.flip(store.insert(recordOf(1))), { startImmediately: true })
        yield* round
        yield* TestClock.adjust("4 seconds")
        expect(waiting.pollUnsafe()).toBe(undefined)
        yield* TestClock.adjust("2 seconds")
        expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        other.exec("ROLLBACK")
        other.close()
        yield* store.insert(recordOf(1))
      }).pipe(Effect.provide(TestClock.layer()))
    )
  )

  test(
    "whose commit fails for a reason of the disk have an unknown outcome",
    inFile(function* (path) {
      const connection = yield* connect(path)
      const ioError = 10
      let broken = true
      const store = yield* storeOver({
        ...connection,
        prepare: (sql) => {
          const statement = connection.prepare(sql)
          const failing = () => {
            throw new Error("disk I/O error")
          }
          return sql === "COMMIT" ? { ...statement, run: () => (broken ? failing() : statement.run()) } : statement
        },
        resultCode: (thrown) =>
          thrown instanceof Error && thrown.message === "disk I/O error" ? ioError : connection.resultCode(thrown)
      })
      const failed = yield* Effect.flip(store.insert(recordOf(1)))
      expect(failed).toMatchObject({ _tag: "StorageUnavailable", outcome: "unknown" })
      broken = false
      yield* store.insert(recordOf(2))
      expect(Option.isSome(yield* store.get(recordOf(2)))).toBe(true)
    })
  )

  test(
    "and reads are refused as not done once the store is closed",
    inFile(function* (path) {
      const store = yield* Effect.scoped(Effect.flatMap(connect(path), storeOver))
      const refusals = yield* Effect.all([
        Effect.flip(store.get(recordOf(1))),
        Effect.flip(store.insert(recordOf(1))),
        Effect.flip(store.remove(recordOf(1))),
        Effect.flip(store.sweep(0, 1))
      ])
      for (const refusal of refusals) expect(refusal).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    })
  )
})
