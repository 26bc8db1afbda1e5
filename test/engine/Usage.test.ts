import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Latch, Option } from "effect"
import { makeRecords } from "../../core/engine/Records.ts"
import { makeUsage, UnwrittenUses, type Use, usageKind } from "../../core/engine/Usage.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { inWorld, t0, type World } from "../given/World.ts"

const usageOf = (world: World) => makeUsage(makeRecords(world.storage, usageKind), world.services.entropy)
const start = Instant.make(t0)

test("what is used all the time is noted once a minute", () =>
  inWorld(function* (world) {
    const usage = usageOf(world)
    const noted = (by: number) => {
      usage.saw("grant", world.workspace.id, "one", later(start, by))
      return usage.lastUse("grant", world.workspace.id, "one")
    }
    expect(yield* noted(0)).toBe(start)
    expect(yield* noted(59_999)).toBe(start)
    expect(yield* noted(60_000)).toBe(later(start, 60_000))
  }))

test("of more than a hundred thousand things at once the last are left for later, and those that are known go on", () =>
  inWorld(function* (world) {
    const usage = usageOf(world)
    for (let n = 0; n <= 100_000; n++) usage.saw("grant", world.workspace.id, `g${n}`, start)
    const lastUse = (n: number) => usage.lastUse("grant", world.workspace.id, `g${n}`)
    expect([yield* lastUse(99_999), yield* lastUse(100_000)]).toEqual([start, undefined])
    usage.saw("grant", world.workspace.id, "g0", later(start, 60_000))
    expect(yield* lastUse(0)).toBe(later(start, 60_000))
  }))

/** 100 last uses over a store that waits, before each write, for the test, and takes none that `refuses` names. */
const heldWrites = (world: World) => {
  const begun: Array<string> = []
  const refuses = new Set<string>()
  const gate = Latch.makeUnsafe()
  const usage = makeUsage(
    makeRecords(
      {
        ...world.storage,
        insert: (record) =>
          Effect.suspend(() => {
            begun.push(record.id)
            const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
            return Effect.andThen(gate.await, refuses.has(record.id) ? Effect.fail(away) : world.storage.insert(record))
          })
      },
      usageKind
    ),
    world.services.entropy
  )
  for (let n = 0; n < 100; n++) usage.saw("grant", world.workspace.id, `g${n}`, Instant.make(t0))
  const written = Effect.map(
    Effect.forEach(Array.from({ length: 100 }), (_, n) =>
      world.storage.get({ workspace: world.workspace.id, kind: "usage", id: `grant:g${n}` })
    ),
    (found) => found.filter(Option.isSome).length
  )
  return { begun, gate, refuses, usage, written }
}

describe("noting last uses", () => {
  test("goes on past one record that cannot be read", () =>
    inWorld(function* (world) {
      const { usage } = world.services
      const key = (id: string) => ({ workspace: world.workspace.id, kind: "usage", id: `grant:${id}` }) as const
      // As a later release might write it.
      yield* world.storage.insert({ ...key("one"), owner: "usage", expiresAt: null, body: { _v: 99, _by: "later" } })
      const now = Instant.make(t0)
      for (const id of ["one", "two", "three"]) usage.saw("grant", world.workspace.id, id, now)

      expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
      expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
      expect(Option.isSome(yield* world.storage.get(key("two")))).toBe(true)
      expect(Option.isSome(yield* world.storage.get(key("three")))).toBe(true)
    }))

  test("of a process that comes late does not make it look longer ago", () =>
    inWorld(function* (world) {
      const process = () => makeUsage(makeRecords(world.storage, usageKind), world.services.entropy)
      const [late, early] = [process(), process()]
      late.saw("grant", world.workspace.id, "one", Instant.make(t0))
      early.saw("grant", world.workspace.id, "one", Instant.make(t0 + 60_000))
      expect([yield* early.flush, yield* late.flush]).toEqual([1, 1])
      const used = yield* process().lastUse("grant", world.workspace.id, "one")
      expect(used).toBe(Instant.make(t0 + 60_000))
    }))

  test("is one write for a use that is later than what is stored, and none for one that is not", () =>
    inWorld(function* (world) {
      const flushed = Effect.fnUntraced(function* (at: number) {
        const usage = usageOf(world)
        usage.saw("client", world.workspace.id, "one", Instant.make(at))
        const { insert, replace } = world.calls
        insert.length = 0
        replace.length = 0
        expect(yield* usage.flush).toBe(1)
        const used = yield* usageOf(world).lastUse("client", world.workspace.id, "one")
        return [insert.length, replace.length, (used ?? 0) - t0]
      })
      expect(yield* flushed(t0 + 5)).toEqual([1, 0, 5])
      expect(yield* flushed(t0 + 5)).toEqual([0, 0, 5])
      expect(yield* flushed(t0 + 4)).toEqual([0, 0, 5])
      expect(yield* flushed(t0 + 6)).toEqual([0, 1, 6])
      const use = { id: "client:one", usedAt: start }
      expect([usageKind.id(use), usageKind.owner(use)]).toEqual(["client:one", "usage"])
      expect(usageKind.expiresAt(use)).toBe(later(start, 400 * 86_400_000))
      expect(yield* usageOf(world).lastUse("client", world.workspace.id, "another")).toBeUndefined()
    }))

  test("is done many at once, and a write that fails does not fail the others", () =>
    inWorld(function* (world) {
      const { begun, gate, refuses, usage, written } = heldWrites(world)
      refuses.add("grant:g0")
      const flush = yield* Effect.forkChild(Effect.result(usage.flush), { startImmediately: true })
      expect(begun).toHaveLength(64)
      yield* gate.open
      expect((yield* Fiber.join(flush))._tag).toBe("Failure")
      expect(yield* written).toBe(63)
      refuses.clear()
      expect(yield* usage.flush).toBe(37)
      expect(yield* written).toBe(100)
    }))

  test("is done the next time where it is interrupted", () =>
    inWorld(function* (world) {
      const { gate, usage, written } = heldWrites(world)
      const flush = yield* Effect.forkChild(usage.flush, { startImmediately: true })
      yield* Fiber.interrupt(flush)
      expect(yield* written).toBe(0)
      yield* gate.open
      expect(yield* usage.flush).toBe(100)
      expect(yield* usage.flush).toBe(0)
      expect(yield* written).toBe(100)
    }))
})

const [here, there] = [WorkspaceId.make("here"), WorkspaceId.make("there")]
const useOf = (workspace: WorkspaceId, id: string, at: number, thing: Use["thing"] = "grant"): Use => ({
  workspace,
  thing,
  id,
  usedAt: Instant.make(at)
})
const unwrittenOf = (...uses: ReadonlyArray<Use>) => {
  const unwritten = new UnwrittenUses()
  for (const use of uses) unwritten.set(use)
  return unwritten
}
const timeOf = (unwritten: UnwrittenUses, { id, thing, workspace }: Use): number | undefined =>
  unwritten.get(thing, workspace, id)

describe("last uses that are not written yet", () => {
  test("are the latest of each thing, in the order in which the things were first seen", () => {
    const unwritten = unwrittenOf(useOf(here, "a", 1), useOf(here, "b", 2), useOf(here, "a", 3))
    expect(unwritten.snapshot()).toEqual([useOf(here, "a", 3), useOf(here, "b", 2)])
    expect(unwritten.size).toBe(2)
  })

  test("are told apart by workspace and kind, whatever their ids", () => {
    const uses = [
      useOf(here, "a", 1),
      useOf(there, "a", 2),
      useOf(here, "a", 3, "client"),
      useOf(there, "a", 4, "client")
    ]
    const unwritten = unwrittenOf(...uses)
    expect(uses.map((use) => timeOf(unwritten, use))).toEqual([1, 2, 3, 4])
    expect(unwritten.snapshot()).toEqual(uses)
    for (const [at, use] of uses.entries()) {
      unwritten.written(use)
      expect(unwritten.snapshot()).toEqual(uses.slice(at + 1))
      expect(uses.map((one) => timeOf(unwritten, one))).toEqual([1, 2, 3, 4].map((n) => (n > at + 1 ? n : undefined)))
    }
  })

  test("are one for each thing, though the one that had its id before is gone", () => {
    const [first, second] = [useOf(here, "a", 1), useOf(there, "a", 2)]
    const unwritten = unwrittenOf(first, second)
    unwritten.written(first)
    const later = useOf(there, "a", 3)
    unwritten.set(later)
    expect(unwritten.snapshot()).toEqual([later])
    expect(timeOf(unwritten, later)).toBe(3)
  })

  test("stay when they were seen again while they were written", () => {
    const unwritten = unwrittenOf(useOf(here, "a", 1))
    const [before] = unwritten.snapshot()
    unwritten.set(useOf(here, "a", 2))
    if (before !== undefined) unwritten.written(before)
    expect(unwritten.snapshot()).toEqual([useOf(here, "a", 2)])
  })

  test("that cannot be written keep no other waiting, of their kind or not", () => {
    const uses = [useOf(here, "a", 1), useOf(here, "b", 2), useOf(there, "c", 3), useOf(here, "d", 4, "client")]
    const unwritten = unwrittenOf(...uses)
    unwritten.postpone(useOf(here, "a", 1))
    expect(unwritten.snapshot().map(({ id }) => id)).toEqual(["c", "d", "b", "a"])
    expect(unwritten.snapshot()).toHaveLength(4)
    expect(timeOf(unwrittenOf(), useOf(here, "a", 1))).toBeUndefined()
  })
})
