import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Latch, Option } from "effect"
import { recordsOf } from "../../../core/engine/Records.ts"
import { makeUsage, usageKind } from "../../../core/engine/Usage.ts"
import { StorageUnavailable } from "../../../core/ports/Storage.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { inWorld, t0, type World } from "../../given/World.ts"

/** 100 last uses over a store that waits, before each write, for the test, and takes none that `refuses` names. */
const heldWrites = (world: World) => {
  const begun: Array<string> = []
  const refuses = new Set<string>()
  const gate = Latch.makeUnsafe()
  const usage = makeUsage(
    recordsOf(
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
    world.parts.entropy
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
    inWorld((world) =>
      Effect.gen(function* () {
        const { usage } = world.parts
        const key = (id: string) => ({ workspace: world.workspace.id, kind: "usage", id: `grant:${id}` }) as const
        // As a later release might write it.
        yield* world.storage.insert({ ...key("one"), owner: "usage", expiresAt: null, body: { _v: 99, _by: "later" } })
        const now = Instant.make(t0)
        for (const id of ["one", "two", "three"]) usage.saw("grant", world.workspace.id, id, now)

        expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
        expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
        expect(Option.isSome(yield* world.storage.get(key("two")))).toBe(true)
        expect(Option.isSome(yield* world.storage.get(key("three")))).toBe(true)
      })
    ))

  test("of a process that comes late does not make it look longer ago", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const process = () => makeUsage(recordsOf(world.storage, usageKind), world.parts.entropy)
        const [late, early] = [process(), process()]
        late.saw("grant", world.workspace.id, "one", Instant.make(t0))
        early.saw("grant", world.workspace.id, "one", Instant.make(t0 + 60_000))
        expect([yield* early.flush, yield* late.flush]).toEqual([1, 1])
        const used = yield* process().lastUse("grant", world.workspace.id, "one")
        expect(used).toEqual(Option.some(Instant.make(t0 + 60_000)))
      })
    ))

  test("is done many at once, and what fails takes nobody along", () =>
    inWorld((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("is done the next time where it is interrupted", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { gate, usage, written } = heldWrites(world)
        const flush = yield* Effect.forkChild(usage.flush, { startImmediately: true })
        yield* Fiber.interrupt(flush)
        expect(yield* written).toBe(0)
        yield* gate.open
        expect(yield* usage.flush).toBe(100)
        expect(yield* usage.flush).toBe(0)
        expect(yield* written).toBe(100)
      })
    ))
})
