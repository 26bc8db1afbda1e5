import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { Clock, Context, Effect, Fiber, Layer, Option, type Scope } from "effect"
import { copy, type Side } from "../../adapters/copy/copy.ts"
import {
  type Json,
  kinds,
  type NewRecord,
  type RecordKey,
  Storage,
  StorageScan,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { sameJson } from "../../core/testing/sameJson.ts"
import { stoppedClock } from "../../core/testing/stoppedClock.ts"
import { makeOldFile } from "../adapters/sqlite/oldFile.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { clientCredentials, companies, redeem, refresh, register } from "./Application.ts"
import { openMint } from "./Mint.ts"
import { field } from "./Reply.ts"
import { startTessera, tessera } from "./ServerProcess.ts"
import { everyStore, postgresStore, redisStore, type Store, sqliteStore } from "./Store.ts"

const run = <A, E>(body: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Effect.scoped(body))

const openSide = (store: Store) =>
  Effect.map(
    Layer.build(Layer.fresh(store.layer)),
    (services): Side => ({ storage: Context.get(services, Storage), scan: Context.get(services, StorageScan).scan })
  )

const bodies: ReadonlyArray<Json> = [
  { b: 1, a: [null, true, { d: 0.1, c: -1e-7 }], "": "", é: "\u0000\u0001\ud800 😀", nothing: {}, none: [] },
  { _v: 1, _by: "x", big: 9007199254740991, long: "x".repeat(3000) },
  { "10": "ten", "9": "nine", _v: 1 }
]

/** Of every kind and in two workspaces, with what stores find hard to hold. */
const oddRecords: ReadonlyArray<NewRecord> = kinds.flatMap((kind) =>
  ["one", "the other: 2%"].flatMap((workspace) =>
    ["a", "a:b", "ünïcödé 😀", "\ud800", "z".repeat(200)].map((id, n) => ({
      workspace,
      kind,
      id,
      owner: n % 2 === 0 ? "owner" : `owner of ${id}`,
      expiresAt: n === 0 ? null : 4e12 + n,
      body: bodies[n % bodies.length] ?? null
    }))
  )
)

const fill = (side: Side, records: ReadonlyArray<NewRecord>) =>
  Effect.forEach(records, (record) => side.storage.insert(record), { concurrency: 64, discard: true })

const quietly = { overwrite: false, onProgress: () => Effect.void }

const versionOf = (side: Side, record: NewRecord) =>
  Effect.map(side.storage.get(record), (found) => Option.getOrThrow(found).version)

const expectSame = Effect.fnUntraced(function* (side: Side, record: StoredRecord) {
  const found = Option.getOrThrow(yield* side.storage.get(record))
  // What its reader made of it is no part of a record.
  const stored = { ...found, body: sameJson(found.body, record.body), reading: undefined }
  expect(stored).toEqual({ ...record, version: 1, body: true, reading: undefined })
})

describe("a copy between any two stores", () => {
  for (const [source, openSource] of everyStore) {
    test(`from ${source} to each: every record of every kind, and nothing to do a second time`, () =>
      run(
        Effect.gen(function* () {
          const from = yield* openSide(yield* openSource)
          yield* fill(from, oddRecords)
          const [changed] = oddRecords
          if (changed === undefined) throw new Error("no records")
          yield* from.storage.replace(1, changed)
          const held = yield* Effect.forEach(oddRecords, (record) =>
            Effect.map(from.storage.get(record), Option.getOrThrow)
          )

          for (const [, openTarget] of everyStore) {
            const to = yield* openSide(yield* openTarget)
            const copied = yield* copy(from, to, quietly)
            expect(copied.map(({ kind, tally, written }) => [kind, written, tally.count])).toEqual(
              kinds.map((kind) => [kind, 10, 10])
            )
            yield* Effect.forEach(held, (record) => expectSame(to, record), { concurrency: 64, discard: true })

            const again = yield* copy(from, to, quietly)
            expect(again.map(({ written }) => written)).toEqual(kinds.map(() => 0))
            expect(again.map(({ tally }) => tally)).toEqual(copied.map(({ tally }) => tally))
          }
        })
      ))
  }
})

describe("a copy", () => {
  const grant = (id: string, body: Json = { id }): NewRecord => ({
    workspace: "w",
    kind: "grant",
    id,
    owner: "o",
    expiresAt: null,
    body
  })

  const twoSides = Effect.gen(function* () {
    return { from: yield* openSide(yield* sqliteStore), to: yield* openSide(yield* sqliteStore) }
  })

  test("writes nothing where the target holds anything else, unless that may be lost", () =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        yield* fill(from, [grant("same"), grant("changed"), grant("new"), grant("moved")])
        const moved = { ...grant("moved"), owner: "somebody else" }
        yield* fill(to, [grant("same"), grant("changed", { other: 1 }), grant("extra"), moved])

        const refusal = yield* Effect.flip(copy(from, to, quietly))
        expect(refusal).toMatchObject({
          _tag: "TargetDiffers",
          differences: [{ kind: "grant", changed: 2, unknown: 1 }]
        })
        expect(Option.isNone(yield* to.storage.get(grant("new")))).toBe(true)
        expect(refusal.message).not.toContain("extra")
        expect(Option.isSome(yield* to.storage.get(grant("extra")))).toBe(true)

        const copied = yield* copy(from, to, { ...quietly, overwrite: true })
        expect(copied.find(({ kind }) => kind === "grant")).toMatchObject({ written: 3, tally: { count: 4 } })
        expect(Option.isNone(yield* to.storage.get(grant("extra")))).toBe(true)
        expect(Option.getOrThrow(yield* to.storage.get(grant("moved"))).owner).toBe("o")
        expect(yield* versionOf(to, grant("changed"))).toBe(2)
        expect(yield* versionOf(to, grant("same"))).toBe(1)
      })
    ))

  test("writes nothing where the target holds but one more record than the source", () =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        yield* fill(from, [grant("new")])
        yield* fill(to, [grant("extra")])
        expect(yield* Effect.flip(copy(from, to, quietly))).toMatchObject({
          _tag: "TargetDiffers",
          differences: [{ kind: "grant", changed: 0, unknown: 1 }]
        })
        expect((yield* to.scan("grant", undefined, 10)).records.map(({ id }) => id)).toEqual(["extra"])
      })
    ))

  /** At first each page is away, and each write is in vain; or it is made, but neither it nor the next look is answered. */
  const shaky = ({ scan, storage }: Side, made: boolean): Side => {
    const asked = new Set<string>()
    const away = (outcome: StorageUnavailable["outcome"]) => new StorageUnavailable({ outcome, message: "away" })
    const first = (question: unknown) => {
      const name = JSON.stringify(question)
      return !asked.has(name) && asked.add(name) !== undefined
    }
    const unheard = <A, E>(verb: string, record: RecordKey, write: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        if (!first([verb, record.kind, record.id])) return write
        return made ? Effect.andThen(write, away("unknown")) : away("not_done")
      })
    return {
      scan: (...page) => (first(["scan", ...page]) ? Effect.fail(away("not_done")) : scan(...page)),
      storage: {
        ...storage,
        get: (key) => (made && first(["get", key.kind, key.id]) ? Effect.fail(away("not_done")) : storage.get(key)),
        insert: (record) => unheard("insert", record, storage.insert(record)),
        replace: (expected, record) => unheard("replace", record, storage.replace(expected, record)),
        remove: (key) => unheard("remove", key, storage.remove(key))
      }
    }
  }
  const withoutWaiting = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.provideService(effect, Clock.Clock, { ...stoppedClock(clock, 0), sleep: () => Effect.void })
    )

  test.each([true, false])("asks again whatever was not answered, be it that it was written (%p)", (made) =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        const moved = { ...grant("moved"), owner: "somebody else" }
        yield* fill(from, [grant("same"), grant("changed"), grant("new"), grant("moved")])
        yield* fill(to, [grant("same"), grant("changed", { other: 1 }), grant("extra"), moved])
        const copied = yield* copy(shaky(from, made), shaky(to, made), { ...quietly, overwrite: true }).pipe(
          withoutWaiting
        )
        expect(copied.find(({ kind }) => kind === "grant")).toMatchObject({ tally: { count: 4 } })
        expect(yield* versionOf(to, grant("changed"))).toBe(2)
        expect(Option.isNone(yield* to.storage.get(grant("extra")))).toBe(true)
      })
    )
  )

  test("replaces nothing that came into the target after it was compared, and does not ask twice", () =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        yield* fill(from, [grant("a")])
        const theirs = grant("a", { theirs: true })
        let asked = 0
        const insert: Side["storage"]["insert"] = (record) =>
          Effect.suspend(() => (++asked === 1 ? Effect.orDie(to.storage.insert(theirs)) : Effect.void)).pipe(
            Effect.andThen(to.storage.insert(record))
          )
        const refusal = yield* Effect.flip(
          copy(from, { ...to, storage: { ...to.storage, insert } }, quietly).pipe(withoutWaiting)
        )
        expect(refusal).toMatchObject({ _tag: "CopyDiffers", kinds: ["grant"] })
        expect(Option.getOrThrow(yield* to.storage.get(theirs)).body).toEqual({ theirs: true })
        expect(asked).toBe(1)
      })
    ))

  test("says so where another process replaces what it is to overwrite", () =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        yield* fill(from, [grant("a")])
        yield* fill(to, [grant("a", { theirs: 1 })])
        const replace: Side["storage"]["replace"] = (expected, record) =>
          Effect.andThen(
            Effect.orDie(to.storage.replace(expected, grant("a", { theirs: 2 }))),
            to.storage.replace(expected, record)
          )
        const rival = { ...to, storage: { ...to.storage, replace } }
        expect(yield* Effect.flip(copy(from, rival, { ...quietly, overwrite: true }))).toMatchObject({
          _tag: "CopyDiffers",
          kinds: ["grant"]
        })
      })
    ))

  test("asks again where the source was away, be it one that reads when it is asked and not when that is run", () =>
    run(
      Effect.gen(function* () {
        const { from, to } = yield* twoSides
        yield* fill(from, [grant("a")])
        yield* fill(to, [grant("a")])
        let asked = 0
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        const get: Side["storage"]["get"] = (key) => (++asked < 3 ? Effect.fail(away) : from.storage.get(key))
        const copied = yield* copy({ ...from, storage: { ...from.storage, get } }, to, quietly).pipe(withoutWaiting)
        expect(copied.find(({ kind }) => kind === "grant")).toMatchObject({ written: 0, tally: { count: 1 } })
        expect(asked).toBe(3)
      })
    ))

  const faults: Readonly<Record<string, (to: Side) => Partial<Side["storage"]>>> = {
    "a store that forgets a write": (to) => ({
      insert: (record) => (record.id === "b" ? Effect.void : to.storage.insert(record))
    }),
    "a store that keeps something else": (to) => ({
      insert: (record) => to.storage.insert(record.id === "b" ? { ...record, body: {} } : record)
    }),
    "a store that changes an expiry": (to) => ({
      insert: (record) => to.storage.insert(record.id === "b" ? { ...record, expiresAt: 1 } : record)
    }),
    "somebody who writes meanwhile": (to) => ({
      insert: (record) => Effect.andThen(Effect.ignore(to.storage.insert(grant("more"))), to.storage.insert(record))
    })
  }
  for (const [name, fault] of Object.entries(faults)) {
    test(`finds out ${name}`, () =>
      run(
        Effect.gen(function* () {
          const { from, to } = yield* twoSides
          yield* fill(from, [grant("a"), grant("b"), grant("c")])
          const faulty = { ...to, storage: { ...to.storage, ...fault(to) } }
          expect(yield* Effect.flip(copy(from, faulty, quietly))).toMatchObject({
            _tag: "CopyDiffers",
            kinds: ["grant"]
          })
        })
      ))
  }
})

const many = Array.from(
  { length: 3000 },
  (_, n): NewRecord => ({
    workspace: "w",
    kind: "grant",
    id: `grant ${n}`,
    owner: `owner ${n % 100}`,
    expiresAt: 4e12,
    body: { n }
  })
)

/** As many as a copy writes at once, and again what a store has taken in by then. */
const onTheirWay = 128

const countOf = (side: Side) =>
  Effect.map(side.scan("grant", undefined, many.length + 1), ({ records }) => records.length)

const copying = (from: Store, to: Store, ...more: ReadonlyArray<string>) =>
  tessera(["copy", ...more], {
    COPY_FROM: from.databaseUrl,
    COPY_TO: to.databaseUrl
  })

describe("tessera copy", () => {
  const pairs = [
    ["SQLite", sqliteStore, "PostgreSQL", postgresStore],
    ["PostgreSQL", postgresStore, "Redis", redisStore],
    ["Redis", redisStore, "SQLite", sqliteStore]
  ] as const

  for (const [source, openSource, target, openTarget] of pairs) {
    test(
      `killed with -9 between ${source} and ${target}, it goes on where it was`,
      () =>
        run(
          Effect.gen(function* () {
            const store = yield* openSource
            const from = yield* openSide(store)
            yield* fill(from, many)

            // It may be through before the kill arrives; then nothing was shown, and another one is killed.
            for (let attempt = 1; ; attempt++) {
              const other = yield* openTarget
              const to = yield* openSide(other)
              const killed = yield* Effect.forkChild(copying(store, other))
              const begun = Effect.map(to.scan("grant", undefined, 1), ({ records }) => records.length > 0)
              expect(yield* pollUntil(Effect.orDie(begun), 30_000)).toBe(true)
              yield* Fiber.interrupt(killed)
              const there = yield* countOf(to)
              if (there === many.length && attempt < 5) continue
              expect(there).toBeLessThan(many.length)

              const { status, stderr, stdout } = yield* copying(store, other, "--json")
              expect(status).toBe(0)
              const told: ReadonlyArray<{ kind: string; written: number; count: number }> = JSON.parse(stdout)
              const { count, written } = told.find(({ kind }) => kind === "grant") ?? { count: 0, written: 0 }
              expect(count).toBe(many.length)
              // What was on its way when the kill came may have arrived after the count.
              expect(written).toBeLessThanOrEqual(many.length - there)
              expect(written).toBeGreaterThanOrEqual(many.length - there - onTheirWay)
              expect(stderr).toContain(`grant: ${many.length} records, ${written} of them written`)
              expect(yield* countOf(to)).toBe(many.length)
              return
            }
          })
        ),
      120_000
    )
  }

  test("carries a server to another store: no client notices", () =>
    run(
      Effect.gen(function* () {
        const before = yield* sqliteStore
        const old = yield* startTessera(before)
        const application = yield* register(old, { grant_types: ["authorization_code", "client_credentials"] })
        const mint = yield* openMint(before)
        const code = yield* mint.code(application)
        const tokens = yield* redeem(old, application, yield* mint.code(application))
        const own = yield* clientCredentials(old, application)
        yield* old.stop

        const after = yield* postgresStore
        const { status, stdout } = yield* copying(before, after)
        expect({ status, stdout }).toMatchObject({ status: 0 })
        // What both hold, told by a digest; and that the keys have to come along.
        expect(stdout).toMatch(/^grant +[1-9]\d* +[1-9]\d* +\S{16}$/m)
        expect(stdout).toContain("SEAL_KEYS")

        const fresh = yield* startTessera(after)
        expect((yield* companies(fresh, field(tokens, "access_token"))).status).toBe(200)
        expect((yield* companies(fresh, field(own, "access_token"))).status).toBe(200)
        const next = yield* refresh(fresh, application, field(tokens, "refresh_token"))
        expect(next.status).toBe(200)
        expect((yield* redeem(fresh, application, code)).status).toBe(200)
      })
    ))

  test("says what is wrong, by exit status too, and repeats no password", () =>
    run(
      Effect.gen(function* () {
        const store = yield* sqliteStore
        const path = store.databaseUrl.slice("sqlite:".length)
        const outcome = (from: string, to: string) =>
          Effect.map(
            tessera(["copy"], { COPY_FROM: from, COPY_TO: to, STORAGE_TIMEOUT: "100 millis" }),
            ({ status, stderr, stdout }) => `${status} ${stdout}${stderr.split("\n").at(-2) ?? ""}`
          )
        const away = "postgres://tessera:hunter2@127.0.0.1:1/tessera"

        expect(yield* outcome(store.databaseUrl, "memory:")).toBe("2 --to: a process's memory is its own")
        expect(yield* outcome("mysql://me:hunter2@db/x", store.databaseUrl)).toMatch(/^2 --from: expected memory:/)
        expect(yield* outcome(`sqlite:${path}`, `sqlite:${path}`)).toBe("2 --from and --to are the same.")
        expect(yield* outcome(`sqlite:${path}.gone`, store.databaseUrl)).toBe(`3 There is no ${path}.gone.`)
        expect(existsSync(`${path}.gone`)).toBe(false)
        expect(yield* outcome(away, store.databaseUrl)).toMatch(/^1 (?!.*hunter2).*ECONNREFUSED/)

        expect(yield* outcome("redis://127.0.0.1:1?prefix=a b", store.databaseUrl)).toMatch(/^2 --from: .* prefix /)
        expect(yield* outcome(`sqlite:${path}?schema=acme`, store.databaseUrl)).toMatch(/^2 --from: .* schema$/)

        const old = `${path}.old`
        makeOldFile(old)
        const before = readFileSync(old)
        expect(yield* outcome(`sqlite:${old}`, store.databaseUrl)).toMatch(/^1 SQLite in .*\.old: .* has schema 1/)
        expect(readFileSync(old).equals(before)).toBe(true)

        const from = yield* openSide(store)
        expect(yield* outcome(`sqlite:${path}/in-a-file`, `sqlite:${path}.new`)).toMatch(
          /^1 .*\/in-a-file can't be looked at: ENOTDIR/
        )
        expect(yield* outcome(store.databaseUrl, `sqlite:${path}.new`)).toBe("3 The source holds no records.")
        yield* fill(from, oddRecords.slice(0, 3))
        const other = yield* sqliteStore
        yield* fill(yield* openSide(other), oddRecords.slice(3, 5))
        expect(yield* outcome(store.databaseUrl, other.databaseUrl)).toMatch(
          /^4 The target holds other records already: of client 0 that are different and 2 that the source lacks\./
        )
      })
    ))
})
