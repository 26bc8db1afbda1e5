import { describe, expect, test } from "bun:test"
import { Clock, Context, Effect, Fiber, Layer, Logger, Option } from "effect"
import { TestClock } from "effect/testing"
import * as AtOnce from "../../adapters/memory/MemoryStorage.ts"
import type { Client } from "../../core/client/Client.ts"
import { DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import { type Clients, makeClients } from "../../core/engine/Clients.ts"
import { clientKind, encodeBody } from "../../core/engine/Records.ts"
import { Conflict, Storage, StorageUnavailable, writtenKept } from "../../core/ports/Storage.ts"
import { ClientId } from "../../core/rules/Id.ts"
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
  const body = encodeBody(clientKind, kept, "by somebody")
  const storage = Storage.of({
    get: (key) =>
      Effect.suspend(() => {
        if (key.kind !== "client") return Effect.succeedNone
        asked++
        return Effect.as(
          Effect.sleep(millis),
          Option.some({ ...key, owner: "workspace", version: 1, expiresAt: null, body })
        )
      }),
    insert: () => none,
    replace: () => none,
    remove: () => none,
    list: () => none,
    sweep: () => none
  })
  return { storage, asked: () => asked }
}

const entropy = { bytes: (length: number) => new Uint8Array(length) }

test("a client that took a while to read is at hand for who asked while it was read", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const one = client()
    const store = slowly(one, 5)
    const clients = makeClients(store.storage, entropy, standardPolicy, yield* Clock.Clock)
    const reading = yield* Effect.forkChild(clients.find(home, one.id))
    yield* TestClock.adjust(5)
    expect(yield* Fiber.join(reading)).toEqual(one)
    // Its own grant was looked up meanwhile, and it asks with the moment in which it came.
    for (const after of [0, 3, 5]) expect(clients.cached(home, one.id, later(start, after))).toEqual(one)
    expect(clients.cached(home, one.id, later(start, -1))).toBeUndefined()
    expect(store.asked()).toBe(1)
  }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise))

test("a crowd that comes again and again costs a store that takes its time one read each at most", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const one = client()
    const store = slowly(one, 5)
    const clients = makeClients(store.storage, entropy, standardPolicy, yield* Clock.Clock)
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
      const clients = makeClients(store.storage, entropy, standardPolicy, yield* Clock.Clock)
      for (const _ of [1, 2, 3]) expect(yield* clients.find(home, one.id)).toEqual(one)
      return store.asked()
    })
    expect(yield* asksFor(told(20))).toBe(1)
    expect(yield* asksFor(told(200))).toBe(3)
    const named = (letters: number) => client({ about: { client_name: "a".repeat(letters) } })
    const room = 4096 - JSON.stringify(named(0)).length
    expect([yield* asksFor(named(room)), yield* asksFor(named(room + 1))]).toEqual([1, 3])
  }).pipe(Effect.runPromise))

type Store = Storage["Service"]

/** A store that other processes write, and that tells no process of it. */
const shared = ({ written: _, ...storage }: Store): Store => storage

/** As a store over a network: called is not yet answered. */
const overNetwork = (storage: Store): Store => ({
  ...shared(storage),
  get: (key) => Effect.suspend(() => storage.get(key))
})

const trial: Client = client({ expiresAt: later(start, standardPolicy.unusedClientTtl) })
const refused = (client: Client): Client => ({ ...client, disabled: true })

const told = (storage: Store) =>
  Effect.map(storage.get({ workspace: home, kind: "grant", id: "clients of home" }), (found) =>
    Option.match(found, { onNone: () => [], onSome: ({ body }) => (body as unknown as { clients: unknown }).clients })
  )

/** Two processes over one store, both of which have the client at hand. */
const inTwoProcesses = (
  body: (here: Clients, there: Clients, storage: Store) => Effect.Effect<unknown, unknown>,
  over: (storage: Store) => Store = (storage) => storage,
  one: Client = client()
) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const storage = Context.get(yield* Layer.build(Layer.fresh(AtOnce.layerAtOnce)), Storage)
    const clock = yield* Clock.Clock
    const process = () => makeClients(over(storage), entropy, standardPolicy, clock)
    const [here, there] = [process(), process()]
    yield* here.add(home, one)
    yield* Effect.forEach([here, there], (clients) => clients.withChanges(home, clients.find(home, one.id)))
    yield* body(here, there, storage)
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise)

describe("what one process does to a client", () => {
  const acts = {
    "a change": (clients: Clients) => Effect.asVoid(clients.change(home, trial.id, refused)),
    "its removal": (clients: Clients) => clients.remove(home, trial.id)
  }
  for (const [name, act] of Object.entries(acts)) {
    test(`${name} is known to another with its next check, and with any look where the store answers at once`, () =>
      Promise.all(
        [shared, (storage: Store) => storage].map((over) =>
          inTwoProcesses(
            (here, there) =>
              Effect.gen(function* () {
                yield* act(here)
                expect((yield* there.find(home, trial.id))?.disabled).not.toBe(false)
              }),
            over
          )
        )
      ))

    test(`${name} is known to another over a network with its next check, and until then for a moment not`, () =>
      inTwoProcesses(
        (here, there) =>
          Effect.gen(function* () {
            yield* act(here)
            expect((yield* there.find(home, trial.id))?.disabled).toBe(false)
            expect(yield* there.withChanges(home, Effect.succeed("a grant"))).toBe("a grant")
            expect(there.cached(home, trial.id, start)).toBeUndefined()
            expect((yield* there.find(home, trial.id))?.disabled).not.toBe(false)
            yield* act(there)
            yield* TestClock.adjust(standardPolicy.clientStaleness)
            expect((yield* here.find(home, trial.id))?.disabled).not.toBe(false)
          }),
        overNetwork
      ))

    test(`${name} that the store certainly did not do is told no process, and one that it may have done is`, () =>
      Promise.all(
        (["not_done", "unknown"] as const).map((outcome) =>
          inTwoProcesses(
            (here, _, storage) =>
              Effect.gen(function* () {
                yield* Effect.flip(act(here))
                expect(yield* told(storage)).toEqual(outcome === "unknown" ? [trial.id] : [])
              }),
            (storage) => {
              const fails = Effect.fail(new StorageUnavailable({ outcome, message: "the test said so" }))
              return {
                ...storage,
                replace: (expected, record) =>
                  record.kind === "client"
                    ? Effect.andThen(
                        storage.replace(expected, { ...record, body: { ...Object(record.body), _by: "other" } }),
                        fails
                      )
                    : storage.replace(expected, record),
                remove: () => fails
              }
            }
          )
        )
      ))

    test(`${name} stands where it cannot be told: the log says so, and other processes know of it after a moment`, () => {
      const log: Array<unknown> = []
      return inTwoProcesses(
        (here, there) =>
          Effect.gen(function* () {
            yield* act(here)
            expect(log).toEqual([
              [expect.any(String), { workspace: home, client: trial.id, fault: "StorageUnavailable" }]
            ])
            yield* TestClock.adjust(standardPolicy.clientStaleness)
            expect((yield* there.find(home, trial.id))?.disabled).not.toBe(false)
          }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void log.push(message))]))),
        (storage) => ({
          ...storage,
          insert: (record) =>
            record.kind === "grant"
              ? Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "the test said so" }))
              : storage.insert(record)
        })
      )
    })
  }

  test("that ends a client for good is asked to come again, where others never let it have its turn", () => {
    const sealed: Client = {
      ...trial,
      origin: {
        identifier: DocumentAddress.make("https://app.example/client"),
        since: start,
        until: later(start, 1000)
      }
    }
    return inTwoProcesses(
      (here) =>
        Effect.gen(function* () {
          const ending = yield* Effect.forkChild(Effect.flip(here.end(home, sealed, start)), { startImmediately: true })
          for (let turn = 0; turn < 64; turn++) yield* TestClock.adjust(100)
          expect(yield* Fiber.join(ending)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        }),
      (storage) => ({
        ...storage,
        replace: (expected, record) =>
          record.kind === "client" ? Effect.fail(new Conflict()) : storage.replace(expected, record)
      }),
      sealed
    )
  })

  test("leaves every other client at hand", () =>
    inTwoProcesses(
      (here, there) =>
        Effect.gen(function* () {
          const other = client({ id: ClientId.make("o".repeat(22)) })
          yield* here.add(home, other)
          yield* there.withChanges(home, there.find(home, other.id))
          yield* here.change(home, trial.id, refused)
          yield* there.withChanges(home, Effect.void)
          const atHand = [trial.id, other.id].map((id) => there.cached(home, id, start)?.id)
          expect(atHand).toEqual([undefined, other.id])
        }),
      overNetwork
    ))

  test.each([1, writtenKept, writtenKept + 1])(
    "is seen where the store tells its writes, without a look: %d",
    (many) => {
      let looks = 0
      return inTwoProcesses(
        (here, there) =>
          Effect.gen(function* () {
            const others = Array.from({ length: many }, (_, n) => ClientId.make(`${n}`.padStart(22, "o")))
            for (const id of others) {
              yield* here.add(home, client({ id }))
              yield* there.find(home, id)
            }
            for (const id of others) yield* here.change(home, id, refused)
            looks = 0
            expect(yield* there.withChanges(home, Effect.succeed("a grant"))).toBe("a grant")
            expect(others.filter((id) => there.cached(home, id, start) !== undefined)).toEqual([])
            // The list is too short to name them all, so all are read again.
            expect(there.cached(home, trial.id, start) !== undefined).toBe(many <= writtenKept)
            yield* there.find(home, trial.id)
            yield* there.withChanges(home, Effect.void)
            expect(there.cached(home, trial.id, start)).toBeDefined()
            expect(looks).toBe(0)
          }),
        (storage) => ({
          ...storage,
          get: (key) => {
            if (key.kind === "grant") looks++
            return storage.get(key)
          }
        })
      )
    }
  )

  test("is not hidden by the copy at hand from who reads what is stored", () =>
    inTwoProcesses(
      (here, there) =>
        Effect.gen(function* () {
          expect(yield* there.findStored(home, trial.id)).toBeDefined()
          expect(there.cached(home, trial.id, start)).toBeDefined()
          yield* here.change(home, trial.id, refused)
          expect((yield* there.findStored(home, trial.id))?.disabled).toBe(true)
          expect(there.cached(home, trial.id, start)?.disabled).toBe(true)
          yield* here.remove(home, trial.id)
          expect(yield* there.findStored(home, trial.id)).toBeUndefined()
          expect(there.cached(home, trial.id, start)).toBeUndefined()
          expect(yield* there.letGo(home, trial.id, start)).toBe("gone")
        }),
      overNetwork
    ))

  test("leaves no client that is marked by a copy at hand, where it is gone", () =>
    inTwoProcesses(
      (here, there) =>
        Effect.gen(function* () {
          yield* here.remove(home, trial.id)
          yield* there.markProven(home, trial, start)
          yield* there.markUsed(home, trial, later(start, standardPolicy.unusedClientTtl / 2))
          expect(yield* there.findStored(home, trial.id)).toBeUndefined()
          expect(yield* there.change(home, trial.id, refused)).toBeUndefined()
        }),
      overNetwork,
      trial
    ))

  test("stands when another notes the client as proven, by the copy at hand", () =>
    inTwoProcesses(
      (here, there) =>
        Effect.gen(function* () {
          yield* here.markProven(home, trial, start)
          yield* there.markProven(home, trial, later(start, 1))
          expect((yield* here.findStored(home, trial.id))?.provenAt).toBe(start)
        }),
      overNetwork,
      trial
    ))

  test("no process is told of a client that came, was used, was let in, was let go, or stayed as it was", () =>
    inTwoProcesses(
      (here, _, storage) =>
        Effect.gen(function* () {
          const now = later(start, standardPolicy.unusedClientTtl / 2)
          yield* here.markUsed(home, trial, now)
          yield* here.change(home, trial.id, (stored) => stored)
          expect(yield* here.letGo(home, trial.id, now)).toBe("gone")
          yield* here.add(home, trial)
          yield* here.markProven(home, trial, now)
          expect(yield* here.letGo(home, trial.id, now)).toBe("stays")
          expect(yield* told(storage)).toEqual([])
        }),
      undefined,
      trial
    ))
})
