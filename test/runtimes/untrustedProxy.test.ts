import { describe, expect, test } from "bun:test"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { onUntrustedProxy, untrustedProxySeen } from "../../runtimes/server/untrustedProxy.ts"
import { type Away, type Calls, countingStorage } from "../given/countingStorage.ts"
import { theWorkspace } from "../given/World.ts"

const hour = 60 * 60 * 1000
const { id } = theWorkspace

interface Given {
  readonly calls: Calls
  readonly away: Away
  readonly log: ReadonlyArray<string>
  readonly came: () => void
  readonly seen: Effect.Effect<number | undefined, unknown>
}

const watching = (body: (given: Given) => Effect.Effect<void, unknown>) => {
  const calls: Calls = { get: [], insert: [], replace: [], remove: [], list: [] }
  const away: Away = new Set()
  const log: Array<string> = []
  const hears = Logger.make(({ message }) => void log.push(String(message)))
  const program = Effect.gen(function* () {
    const storage = yield* Storage
    const context = yield* Effect.context<never>()
    const came = yield* onUntrustedProxy(storage, id, (effect) => void Effect.runSyncWith(context)(effect))
    yield* body({ calls, away, log, came, seen: untrustedProxySeen(storage, id) })
  })
  const store = countingStorage(calls, away).pipe(Layer.provideMerge(Memory.layer))
  const layers = Layer.mergeAll(store, Logger.layer([hears]), TestClock.layer())
  return Effect.runPromise(Effect.provide(program, layers))
}

describe("X-Forwarded-For of an address that is not trusted", () => {
  test("is said once, and noted once an hour however often it comes; after a day it is no news", () =>
    watching(({ calls, came, log, seen }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1000 * hour)
        expect(yield* seen).toBeUndefined()
        for (let time = 0; time < 100; time++) came()
        expect(yield* seen).toBe(1000 * hour)
        expect(calls).toMatchObject({ insert: ["usage"], replace: [] })
        yield* TestClock.adjust(hour)
        for (let time = 0; time < 100; time++) came()
        expect(yield* seen).toBe(1001 * hour)
        expect(calls).toMatchObject({ insert: ["usage"], replace: ["usage"] })
        expect(log).toHaveLength(1)
        yield* TestClock.adjust(24 * hour - 1)
        expect(yield* seen).toBe(1001 * hour)
        yield* TestClock.adjust(1)
        expect(yield* seen).toBeUndefined()
      })
    ))

  test("is noted an hour later where the store was away, and troubles no request", () =>
    watching(({ away, came, seen }) =>
      Effect.gen(function* () {
        away.add("insert usage")
        came()
        expect(yield* seen).toBeUndefined()
        away.delete("insert usage")
        yield* TestClock.adjust(hour)
        came()
        expect(yield* seen).toBeDefined()
      })
    ))
})
