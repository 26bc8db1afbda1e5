import { expect, test } from "bun:test"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Client } from "../../core/client/Client.ts"
import { makeClients } from "../../core/engine/Clients.ts"
import type { Records } from "../../core/engine/Records.ts"
import { Instant, instantOf, later } from "../../core/rules/Instant.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { t0 } from "../given/World.ts"
import { client } from "../grant/given.ts"

const start = Instant.make(t0)
const home = WorkspaceId.make("home")

/** A store that takes its time, and how often it was asked. */
const slowly = (kept: Client, millis: number) => {
  let asked = 0
  const none = Effect.die(new Error("nobody writes here"))
  const records: Records<Client> = {
    get: () =>
      Effect.suspend(() => {
        asked++
        return Effect.as(Effect.sleep(millis), { value: kept, version: 1, command: "" })
      }),
    insert: () => none,
    replace: () => none,
    remove: () => none,
    list: () => none
  }
  return { records, asked: () => asked }
}

const entropy = { bytes: (length: number) => new Uint8Array(length) }

test("a client that took a while to read is at hand for who asked while it was read", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const one = client()
    const store = slowly(one, 5)
    const clients = makeClients(store.records, entropy, standardPolicy, yield* Clock.Clock)
    const reading = yield* Effect.forkChild(clients.find(home, one.id))
    yield* TestClock.adjust(5)
    expect(yield* Fiber.join(reading)).toBe(one)
    // Its own grant was looked up meanwhile, and it asks with the moment in which it came.
    for (const after of [0, 3, 5]) expect(clients.cached(home, one.id, later(start, after))).toBe(one)
    expect(clients.cached(home, one.id, later(start, -1))).toBeUndefined()
    expect(store.asked()).toBe(1)
  }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise))

test("a crowd that comes again and again costs a store that takes its time one read each at most", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const one = client()
    const store = slowly(one, 5)
    const clients = makeClients(store.records, entropy, standardPolicy, yield* Clock.Clock)
    const clock = yield* Clock.Clock
    // As a check does: it asks for the grant first, and for its client with the moment in which it came.
    const check = Effect.gen(function* () {
      const came = instantOf(clock)
      yield* Effect.sleep(3)
      if (clients.cached(home, one.id, came) === undefined) yield* clients.find(home, one.id, came)
    })
    const callers = 8
    const calling = Array.from({ length: callers }, (_, at) =>
      Effect.andThen(Effect.sleep(at), Effect.repeat(check, { times: 50 }))
    )
    const all = yield* Effect.forkChild(Effect.all(calling, { concurrency: "unbounded" }))
    for (let time = 0; time < 600; time++) yield* TestClock.adjust(1)
    yield* Fiber.join(all)
    expect(store.asked()).toBeLessThanOrEqual(callers)
  }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise))

test("a client that tells a lot of itself is read every time, so that no stranger decides how much is kept", () =>
  Effect.gen(function* () {
    const told = (addresses: number) =>
      client({
        redirectUris: Array.from({ length: addresses }, (_, n) => RedirectUri.make(`https://app.example/${n}`))
      })
    const asksFor = Effect.fnUntraced(function* (one: Client) {
      const store = slowly(one, 0)
      const clients = makeClients(store.records, entropy, standardPolicy, yield* Clock.Clock)
      for (const _ of [1, 2, 3]) expect(yield* clients.find(home, one.id)).toBe(one)
      return store.asked()
    })
    expect(yield* asksFor(told(20))).toBe(1)
    expect(yield* asksFor(told(200))).toBe(3)
  }).pipe(Effect.runPromise))
