import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Exit, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../../adapters/memory/Memory.ts"
import { makeRecords } from "../../../core/engine/Records.ts"
import { usageKind } from "../../../core/engine/Usage.ts"
import { makeReadiness, takesWrites } from "../../../core/oauth/endpoints/health.ts"
import { Conflict, Storage, StorageUnavailable } from "../../../core/ports/Storage.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { WorkspaceId } from "../../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")

/** A store that answers once the test lets it, and how often it was asked. */
const held = Effect.gen(function* () {
  const below = yield* Storage
  const gate = yield* Deferred.make<void>()
  const reads: Array<string> = []
  const storage: Storage["Service"] = {
    ...below,
    get: (key) =>
      Effect.suspend(() => {
        reads.push(key.workspace)
        return Effect.andThen(Deferred.await(gate), below.get(key))
      })
  }
  return { ready: makeReadiness(storage), reads, open: Deferred.succeed(gate, undefined) }
})

const run = <E>(body: Effect.Effect<void, E, Storage>) =>
  Effect.runPromise(body.pipe(Effect.provide([memory, TestClock.layer()], { local: true })))

const asking = <A, E, R>(question: Effect.Effect<A, E, R>) => Effect.forkChild(question, { startImmediately: true })

const gone = Exit.isFailure

describe("whether the store takes writes", () => {
  test("is asked once for all who want to know at once, of each workspace", () =>
    run(
      Effect.gen(function* () {
        const { open, reads, ready } = yield* held
        const asked = yield* Effect.all(Array.from({ length: 20 }, () => asking(ready(home))))
        const elsewhere = yield* asking(ready(WorkspaceId.make("elsewhere")))
        expect(reads).toEqual(["home", "elsewhere"])
        yield* open
        yield* Fiber.joinAll([...asked, elsewhere])
        expect(reads).toEqual(["home", "elsewhere"])
      })
    ))

  test("is still told to the others where the first to ask went away", () =>
    run(
      Effect.gen(function* () {
        const { open, reads, ready } = yield* held
        const first = yield* asking(ready(home))
        const second = yield* asking(ready(home))
        yield* Fiber.interrupt(first)
        yield* open
        expect(gone(yield* Fiber.await(first))).toBe(true)
        yield* Fiber.join(second)
        expect(reads).toEqual(["home"])
      })
    ))

  test("is asked anew where the clock was set back, though the store keeps all requests waiting", () =>
    run(
      Effect.gen(function* () {
        const { open, reads, ready } = yield* held
        yield* TestClock.setTime(3_600_000)
        const early = yield* asking(ready(home))
        yield* TestClock.setTime(0)
        const late = yield* asking(ready(home))
        expect(reads.length).toBe(2)
        yield* open
        yield* Fiber.joinAll([early, late])
      })
    ))

  test("is asked anew at once, where it did a moment ago", () =>
    run(
      Effect.gen(function* () {
        const { open, reads, ready } = yield* held
        yield* open
        yield* ready(home)
        yield* ready(home)
        expect(reads.length).toBe(2)
      })
    ))

  test("is asked anew after a second, where the store keeps all requests waiting", () =>
    run(
      Effect.gen(function* () {
        const { open, reads, ready } = yield* held
        const early = yield* asking(ready(home))
        yield* TestClock.adjust(999)
        const joined = yield* asking(ready(home))
        expect(reads.length).toBe(1)
        yield* TestClock.adjust(1)
        const late = yield* asking(ready(home))
        expect(reads.length).toBe(2)
        yield* open
        yield* Fiber.joinAll([early, joined, late])
      })
    ))

  test("stays refused for a second, and is asked anew from then on", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        let reads = 0
        const ready = makeReadiness({
          ...below,
          get: (key) =>
            Effect.suspend(() => {
              reads++
              return below.get(key)
            }),
          insert: (record) => (reads < 3 ? Effect.fail(away) : below.insert(record))
        })
        for (const [later, count] of [
          [0, 1],
          [999, 1],
          [1, 2],
          [999, 2]
        ] as const) {
          yield* TestClock.adjust(later)
          expect([yield* Effect.flip(ready(home)), reads]).toEqual([away, count])
        }
        yield* TestClock.adjust(1)
        yield* ready(home)
        expect(reads).toBe(3)
      })
    ))

  test("is answered by the newer attempt, where an older one ends at last", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
        let reads = 0
        const get: Storage["Service"]["get"] = (key) =>
          Effect.suspend(() => Effect.andThen(Deferred.await(gates[reads++] ?? gates[1]), below.get(key)))
        const ready = makeReadiness({ ...below, get })
        const early = yield* asking(ready(home))
        yield* TestClock.adjust(1000)
        const late = yield* asking(ready(home))
        yield* Deferred.succeed(gates[0], undefined)
        yield* Fiber.join(early)
        const joined = yield* asking(ready(home))
        expect(reads).toBe(2)
        yield* Deferred.succeed(gates[1], undefined)
        yield* Fiber.joinAll([late, joined])
      })
    ))
})

describe("a write that was taken", () => {
  const usedAt = (storage: Storage["Service"]) =>
    Effect.map(makeRecords(storage, usageKind).get(home, "readiness"), (kept) => kept?.value.usedAt)

  test("counts for five seconds, for every process, and not where the clock was set back by more", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        const rows = [
          ["the first", 100_000, 100_000],
          ["a moment later", 104_999, 100_000],
          ["later", 105_000, 105_000],
          ["set back a little", 100_001, 105_000],
          ["set back", 100_000, 100_000]
        ] as const
        for (const [what, at, written] of rows) {
          yield* TestClock.setTime(at)
          yield* takesWrites(storage, home)
          expect([what, yield* usedAt(storage)]).toEqual([what, Instant.make(written)])
        }
      })
    ))

  test("is told where it was not, and not where another process's was", () =>
    run(
      Effect.gen(function* () {
        const below = yield* Storage
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        const asked = (fault: Conflict | StorageUnavailable) =>
          Effect.result(
            takesWrites({ ...below, insert: () => Effect.fail(fault), replace: () => Effect.fail(fault) }, home)
          )
        const outcomes = Effect.map(Effect.all([asked(new Conflict()), asked(away)]), ([rival, refused]) => {
          expect(rival).toEqual(Result.succeed(undefined))
          expect(refused).toEqual(Result.fail(away))
        })
        yield* outcomes
        yield* takesWrites(below, home)
        yield* TestClock.adjust(5000)
        yield* outcomes
      })
    ))
})
