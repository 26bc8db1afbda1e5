import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { type Kept, RecordCache } from "../../core/engine/caches.ts"
import { makeRecords, type Records } from "../../core/engine/Records.ts"
import { transact } from "../../core/engine/transact.ts"
import { usageKind } from "../../core/engine/Usage.ts"
import { answer, answerAndKeep } from "../../core/grant/Decision.ts"
import { Conflict, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")
const elsewhere = WorkspaceId.make("elsewhere")

/** Numbers in a store, what was asked of it, and a hand from another process. */
const store = () => {
  const kept = new Map<string, Kept<number>>()
  const asked: Array<string> = []
  const write = (verb: string, id: string, expected: number, value: number, command: string) =>
    Effect.suspend(() => {
      asked.push(`${verb} ${value}`)
      if ((kept.get(id)?.version ?? 0) !== expected) return Effect.fail(new Conflict())
      kept.set(id, { value, version: expected + 1, command })
      return Effect.void
    })
  const keep = <E>(
    cache: RecordCache<number>,
    workspace: WorkspaceId,
    id: string,
    version: number,
    value: number,
    writing: Effect.Effect<void, E>
  ) => Effect.map(writing, () => cache.wrote(workspace, id, value, { value, version, command: "mine" }))
  const recordOf = (id: string, cache: RecordCache<number>): Records<number> => ({
    cache,
    get: () =>
      Effect.sync(() => {
        asked.push("get")
        return kept.get(id)
      }),
    insert: (workspace, value, command) => keep(cache, workspace, id, 1, value, write("insert", id, 0, value, command)),
    replace: (workspace, expected, value, command) =>
      keep(cache, workspace, id, expected + 1, value, write("replace", id, expected, value, command)),
    remove: () => Effect.void,
    list: () => Effect.succeed({ values: [], next: undefined })
  })
  const meddle = (id: string, value: number) =>
    kept.set(id, { value, version: (kept.get(id)?.version ?? 0) + 1, command: "somebody else" })
  const take = () => asked.splice(0)
  return { recordOf, meddle, take, stored: (id: string) => kept.get(id)?.value }
}

const entropy = { bytes: (length: number) => new Uint8Array(length) }

/** One who decides over one store with one memory, as a process does. */
const given = () => {
  const { recordOf, ...rest } = store()
  const written = new RecordCache<number>(100)
  const add = (id: string, workspace = home) =>
    transact(recordOf(id, written), entropy, workspace, id, (value) => answerAndKeep((value ?? 0) + 1, `was ${value}`))
  const look = (id: string) => transact(recordOf(id, written), entropy, home, id, (value) => answer(`is ${value}`))
  return { ...rest, written, add, look }
}

const run = <A, E>(body: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(body)

describe("a record that this process saw last", () => {
  test("needs no reading before it is swapped", () =>
    run(
      Effect.gen(function* () {
        const { add, take, stored } = given()
        yield* add("a")
        expect(take()).toEqual(["get", "insert 1"])
        expect(yield* add("a")).toEqual(Result.succeed("was 1"))
        expect(yield* add("a")).toEqual(Result.succeed("was 2"))
        expect(take()).toEqual(["replace 2", "replace 3"])
        expect(stored("a")).toBe(3)
      })
    ))

  test("is read where nothing is to be kept: only a swap finds out what is old", () =>
    run(
      Effect.gen(function* () {
        const { add, look, meddle, take } = given()
        yield* add("a")
        meddle("a", 50)
        take()
        expect(yield* look("a")).toEqual(Result.succeed("is 50"))
        expect(take()).toEqual(["get"])
      })
    ))

  test("is decided on anew where another process has written since, and then others are read too, for a while", () =>
    run(
      Effect.gen(function* () {
        const { add, meddle, take, stored } = given()
        yield* add("a")
        yield* add("b")
        meddle("a", 50)
        take()
        expect(yield* add("a")).toEqual(Result.succeed("was 50"))
        expect(take()).toEqual(["replace 2", "get", "replace 51"])
        expect(stored("a")).toBe(51)
        for (let n = 0; n < 64; n++) {
          yield* add("b")
          expect([n, take()]).toEqual([n, ["get", `replace ${n + 2}`]])
        }
        yield* add("b")
        expect(take()).toEqual(["replace 66"])
      })
    ))

  test("is told apart by workspace, and can be forgotten", () =>
    run(
      Effect.gen(function* () {
        const { add, take, written } = given()
        yield* add("a")
        take()
        yield* add("a", elsewhere)
        expect(take()[0]).toBe("get")
        written.forget(home, "a")
        expect(written.assumed(elsewhere, "a")?.value).toBe(2)
        written.forget(elsewhere, "a")
        yield* add("a")
        expect(take()).toEqual(["get", "replace 3"])
      })
    ))

  test("is not replaced by a slow read of what it was before", () => {
    const cache = new RecordCache<number>(8)
    cache.wrote(home, "a", 2, { value: 2, version: 2, command: "mine" })
    cache.read(home, "a", 1, { value: 1, version: 1, command: "before" })
    expect(cache.assumed(home, "a")?.value).toBe(2)
    cache.read(home, "a", 3, { value: 3, version: 3, command: "after" })
    expect(cache.assumed(home, "a")?.value).toBe(3)
    // It was removed meanwhile and came again: the same version says nothing of what is in it.
    cache.read(home, "a", 4, { value: 4, version: 3, command: "another" })
    expect(cache.assumed(home, "a")?.value).toBe(4)
  })

  test("is gone once it was forgotten, or was found to be old, in its own workspace only", () => {
    const ways = {
      forgotten: (cache: RecordCache<number>, workspace: WorkspaceId) => cache.forget(workspace, "a"),
      "found to be old": (cache: RecordCache<number>, workspace: WorkspaceId) => cache.wasStale(workspace, "a")
    }
    for (const [way, forget] of Object.entries(ways)) {
      const cache = new RecordCache<number>(8)
      for (const id of ["a", "b"]) cache.wrote(home, id, 1, { value: 1, version: 1, command: "mine" })
      const atHand = () => {
        // So many are read before one is assumed again.
        for (let n = 0; n < 64; n++) cache.assumed(home, "b")
        return ["a", "b"].map((id) => cache.assumed(home, id)?.value)
      }
      forget(cache, elsewhere)
      expect([way, atHand()]).toEqual([way, [1, 1]])
      forget(cache, home)
      expect([way, atHand()]).toEqual([way, [undefined, 1]])
    }
  })

  test("is as much as may be kept at hand, and the younger half of that at least", () => {
    const written = new RecordCache<number>(8)
    for (let n = 0; n < 100; n++) written.wrote(home, `${n}`, n, { value: n, version: 1, command: "mine" })
    const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => written.assumed(home, `${n}`) !== undefined)
    expect(kept.slice(-4)).toEqual([96, 97, 98, 99])
    expect(kept.length).toBeLessThanOrEqual(8)
  })

  test("is read again after a removal by another process", () =>
    run(
      Effect.gen(function* () {
        const { recordOf } = store()
        const written = new RecordCache<number>(100)
        written.wrote(home, "gone", 7, { value: 7, version: 3, command: "mine" })
        const outcome = yield* transact(recordOf("gone", written), entropy, home, "gone", (value) =>
          value === undefined ? answer("gone") : answerAndKeep(value + 1, "kept")
        )
        expect(outcome).toEqual(Result.succeed("gone"))
      })
    ))
})

describe("records with a memory of those that were seen last", () => {
  const use = (usedAt: number) => ({ id: "one", usedAt: Instant.make(usedAt) })
  type Use = ReturnType<typeof use>

  const remembered = Effect.gen(function* () {
    const below = yield* Storage
    const cache = new RecordCache<Use>(8)
    return { below, cache, records: makeRecords(below, usageKind, cache), plain: makeRecords(below, usageKind) }
  })

  const inMemory = <A, E>(body: Effect.Effect<A, E, Storage>): Promise<A> =>
    Effect.runPromise(body.pipe(Effect.provide(memory, { local: true })))

  test("have at hand what was written, at its version and by its command, and what was read", () =>
    inMemory(
      Effect.gen(function* () {
        const { cache, plain, records } = yield* remembered
        yield* records.insert(home, use(1), "first")
        expect(cache.assumed(home, "one")).toEqual({ value: use(1), version: 1, command: "first" })
        yield* records.replace(home, 1, use(2), "second")
        const second = { value: use(2), version: 2, command: "second" }
        expect(cache.assumed(home, "one")).toEqual(second)
        expect(yield* plain.get(home, "one")).toEqual(second)
        // A write that is lost is not at hand.
        expect((yield* Effect.flip(records.replace(home, 1, use(3), "lost")))._tag).toBe("Conflict")
        expect((yield* Effect.flip(records.insert(home, use(3), "lost")))._tag).toBe("Conflict")
        expect(cache.assumed(home, "one")).toEqual(second)
        yield* plain.replace(home, 2, use(4), "elsewhere")
        const found = yield* records.get(home, "one")
        expect(found).toEqual({ value: use(4), version: 3, command: "elsewhere" })
        expect<unknown>(cache.assumed(home, "one")).toBe(found)
        expect(yield* records.get(elsewhere, "one")).toBeUndefined()
      })
    ))

  test("decode a body once, and anew where another stands there, or at another version", () => {
    const cache = new RecordCache<number>(8)
    const body = { n: 1 }
    const kept = { value: 1, version: 3, command: "mine" }
    expect(cache.decoded("a", body, 3)).toBeUndefined()
    cache.wrote(home, "a", body, kept)
    expect(cache.decoded("a", body, 3)).toBe(kept)
    expect([cache.decoded("a", { n: 1 }, 3), cache.decoded("a", body, 4), cache.decoded("b", body, 3)]).toEqual([
      undefined,
      undefined,
      undefined
    ])
    // A record of another workspace takes its place, at whatever version.
    cache.read(elsewhere, "a", body, { ...kept, version: 1 })
    expect([cache.assumed(elsewhere, "a")?.version, cache.assumed(home, "a")]).toEqual([1, undefined])
  })

  test("have nothing at hand of one that was removed, or whose removal may have been done", () =>
    inMemory(
      Effect.gen(function* () {
        const { below, cache, records } = yield* remembered
        const away = new StorageUnavailable({ outcome: "unknown", message: "away" })
        const silent = makeRecords(
          { ...below, remove: (key) => Effect.andThen(below.remove(key), Effect.fail(away)) },
          usageKind,
          cache
        )
        yield* records.insert(home, use(1), "first")
        yield* records.remove(home, "one")
        expect([cache.assumed(home, "one"), yield* records.get(home, "one")]).toEqual([undefined, undefined])
        yield* records.insert(home, use(2), "second")
        expect(yield* Effect.flip(silent.remove(home, "one"))).toEqual(away)
        expect(cache.assumed(home, "one")).toBeUndefined()
      })
    ))
})
