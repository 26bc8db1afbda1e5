import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { makeReadiness } from "../../core/engine/Readiness.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

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

  test("is asked anew where the clock was set back, though the store lets everybody wait", () =>
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

  test("is asked anew after a second, where the store lets everybody wait", () =>
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
})
