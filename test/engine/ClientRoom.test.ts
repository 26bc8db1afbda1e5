import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Clock, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import * as Sqlite from "../../adapters/sqlite/Sqlite.ts"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { registerClient as addClient } from "../../core/engine/administerClients.ts"
import { makeClientRoom } from "../../core/engine/ClientRoom.ts"
import { Conflict, type Listing, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { byOwner } from "../given/auditContext.ts"
import {
  companies,
  header,
  jsonOf,
  postRegistration,
  redirectUri,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest
} from "../given/flow.ts"
import { inWorld, t0, type World } from "../given/World.ts"

const inFolder = async (body: (store: Layer.Layer<Storage>) => Promise<unknown>) => {
  const folder = mkdtempSync(join(tmpdir(), "tessera-room-"))
  try {
    await body(Layer.orDie(Sqlite.layer({ path: join(folder, "tessera.db") })))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const stores = {
  memory: (body: (store: Layer.Layer<Storage>) => Promise<unknown>) => body(Memory.layer),
  SQLite: inFolder
}

const ceiling = 10
const most = 11

const stored = (world: World, { id }: { readonly id: string }) =>
  world.services.clients.findStored(world.workspace.id, ClientId.make(id))

const clear = (world: World) => world.services.clientRoom.clear(world.workspace.id)

const ask = (world: World) => postRegistration(world, { redirect_uris: [redirectUri] })

const serving = { grant_types: ["authorization_code", "client_credentials"] }
const actAlone = (world: World, client: TestClient) => tokenRequest(world, client, { grant_type: "client_credentials" })

const fill = Effect.fnUntraced(function* (world: World, count: number) {
  const made: Array<TestClient> = []
  for (let n = 0; n < count; n++) {
    yield* TestClock.adjust(1000)
    made.push(yield* registerClient(world, serving))
  }
  return made
})

const there = Effect.fnUntraced(function* (world: World, clients: ReadonlyArray<TestClient>) {
  const found = yield* Effect.forEach(clients, (client) => stored(world, client))
  return found.map((client) => client !== undefined)
})

for (const [name, over] of Object.entries(stores)) {
  const inStore = (body: (world: World) => Effect.Effect<unknown, unknown>, maxUnprovenClients = ceiling) =>
    over((store) => inWorld(body, { store, policy: { maxUnprovenClients } }))

  describe(`clients that no person let in, over ${name}`, () => {
    test("go where there are too many: those that were not used for longest, with their own grants", () =>
      inStore((world) =>
        Effect.gen(function* () {
          const made = yield* fill(world, 2)
          const [oldest, used] = made
          if (oldest === undefined || used === undefined) throw new Error("none was made")
          const answer = yield* actAlone(world, oldest)
          const token = String(jsonOf(answer).access_token)
          const kept = yield* stored(world, oldest)
          yield* TestClock.adjust("2 days")
          yield* actAlone(world, used)
          made.push(...(yield* fill(world, most - 2)))
          expect((yield* companies(world, String(jsonOf(yield* actAlone(world, used)).access_token))).status).toBe(200)

          expect(yield* clear(world)).toBe(1)
          expect(yield* there(world, made)).toEqual(made.map((client) => client !== oldest))
          const grant = { workspace: world.workspace.id, kind: "grant", id: String(kept?.workspaceGrant) } as const
          expect((yield* world.storage.get(grant))._tag).toBe("None")
          expect((yield* companies(world, token)).status).toBe(401)
          expect((yield* actAlone(world, oldest)).status).toBe(401)
        })
      ))

    test("never take one along that a person let in, or that is an owner's", () =>
      inStore((world) =>
        Effect.gen(function* () {
          const proven = yield* registerClient(world)
          yield* signInToApp(world, proven)
          const asked = yield* Effect.fromResult(
            readRegistration(world.services, JSON.stringify({ redirect_uris: [redirectUri] }))
          )
          const owned = (yield* addClient(world.services, byOwner(world), asked)).client
          const rest = yield* fill(world, most - 1)
          yield* clear(world)
          rest.push(...(yield* fill(world, 1)))
          expect(yield* clear(world)).toBe(1)
          expect(yield* there(world, rest)).toEqual([false, ...rest.slice(1).map(() => true)])
          for (const one of [proven, owned]) expect(yield* stored(world, one)).toBeDefined()
        })
      ))

    test("are never more than a tenth beyond the ceiling, whichever process is asked, and after a new start", () =>
      inStore((world) =>
        Effect.gen(function* () {
          const other = yield* world.elsewhere
          yield* clear(world)
          for (let n = 0; n < most; n++) expect((yield* ask(n % 2 === 0 ? world : other)).status).toBe(201)
          for (const process of [world, other, yield* world.elsewhere]) {
            const full = yield* ask(process)
            expect([full.status, jsonOf(full).error]).toEqual([503, "temporarily_unavailable"])
            expect(header(full, "retry-after")).toBe("60")
          }
          expect(yield* clear(other)).toBe(1)
          yield* TestClock.adjust("1 minute")
          for (const process of [world, other]) {
            expect((yield* ask(process)).status).toBe(process === world ? 201 : 503)
          }
          // Another round: what is at the ceiling stays there.
          expect(yield* clear(world)).toBe(1)
          const list = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 100 })
          expect(list.values).toHaveLength(ceiling)
        })
      ))

    test("are counted where a release without the ceiling left too many", () =>
      inStore(
        (world) =>
          Effect.gen(function* () {
            const made = yield* fill(world, 2)
            const early = { workspace: world.workspace.id, kind: "limit", id: "clients" } as const
            yield* world.storage.remove(early)
            const later = yield* world.elsewhere
            made.push(...(yield* fill(later, 1)))
            expect(yield* clear(later)).toBe(1)
            expect(yield* there(world, made)).toEqual([false, true, true])
          }),
        2
      ))
  })
}

test("a registration costs one insert, and asks for room once in a hundredth of the ceiling", () =>
  inWorld(
    function* (world) {
      yield* ask(world)
      expect(world.calls.insert).toEqual(["limit", "client"])
      for (const verb of Object.values(world.calls)) verb.length = 0
      const crowd = Array.from({ length: 9 }, () => ask(world))
      yield* Effect.all(crowd, { concurrency: "unbounded" })
      expect(world.calls).toEqual({ get: [], insert: crowd.map(() => "client"), replace: [], remove: [], list: [] })
      yield* ask(world)
      expect([world.calls.get, world.calls.replace]).toEqual([["limit"], ["limit"]])
    },
    { policy: { maxUnprovenClients: 1000 } }
  ))

/** A store in memory that is called otherwise than it asks to be. */
const changed = (change: (below: Storage["Service"]) => Partial<Storage["Service"]>) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({ ...below, ...change(below) }))
  ).pipe(Layer.provide(Memory.layer))

const stores200 = {
  "answers at once": Memory.layer,
  "takes its time": changed((below) => ({ get: (key) => Effect.andThen(Effect.yieldNow, below.get(key)) }))
}

for (const [what, store] of Object.entries(stores200)) {
  test(`many registrations at once share the places that one of them took, over a store that ${what}`, () =>
    inWorld(
      function* (world) {
        const crowd = Array.from({ length: 300 }, () => ask(world))
        const answers = yield* Effect.all(crowd, { concurrency: "unbounded" })
        expect(answers.filter(({ status }) => status === 201)).toHaveLength(220)
        expect(world.calls.replace.length + world.calls.insert.filter((kind) => kind === "limit").length).toBe(110)
      },
      { policy: { maxUnprovenClients: 200 }, store }
    ))
}

test("those that are let go go together, and never more than the store has to take at once", () => {
  let [atOnce, most] = [0, 0]
  const slow = changed((below) => ({
    remove: (key) =>
      Effect.gen(function* () {
        most = Math.max(most, ++atOnce)
        yield* Effect.yieldNow
        atOnce--
        yield* below.remove(key)
      })
  }))
  return inWorld(
    function* (world) {
      yield* Effect.all(
        Array.from({ length: 220 }, () => ask(world)),
        { discard: true }
      )
      expect(yield* clear(world)).toBe(20)
      expect(most).toBe(16)
    },
    { policy: { maxUnprovenClients: 200 }, store: slow }
  )
})

test("what is not too much is not counted, and what is full is not asked again within a second", () =>
  inWorld(
    function* (world) {
      yield* clear(world)
      for (let n = 0; n < most; n++) yield* ask(world)
      yield* ask(world)
      for (const verb of Object.values(world.calls)) verb.length = 0
      expect([(yield* ask(world)).status, world.calls.get]).toEqual([503, []])
      yield* TestClock.adjust(1000)
      expect([(yield* ask(world)).status, world.calls.get]).toEqual([503, ["limit"]])
      // A clock that was set back does not tell for how long it has been.
      yield* TestClock.setTime(t0 - 3_600_000)
      expect((yield* ask(world)).status).toBe(503)
      expect(world.calls.get.filter((kind) => kind === "limit")).toHaveLength(2)
      yield* clear(world)
      expect(world.calls.list).toEqual(["client"])
      yield* clear(world)
      expect(world.calls.list).toEqual(["client"])
    },
    { policy: { maxUnprovenClients: ceiling } }
  ))

test("one whose time is over takes no room, though its record is not swept yet", () =>
  inWorld(
    function* (world) {
      const made = yield* fill(world, most)
      yield* TestClock.adjust(standardPolicy.unusedClientTtl - (most - 1) * 1000)
      expect(yield* there(world, made)).toEqual(made.map(() => true))
      const written = world.log.length
      expect(yield* clear(world)).toBe(0)
      expect(yield* there(world, made)).toEqual(made.map(() => true))
      expect(world.log.slice(written)).toEqual([])
    },
    { policy: { maxUnprovenClients: ceiling } }
  ))

test("a registration that never gets its turn at the room is asked to come again", () =>
  inWorld(
    function* (world) {
      const asking = yield* Effect.forkChild(ask(world), { startImmediately: true })
      for (let turn = 0; turn < 64; turn++) yield* TestClock.adjust(100)
      const answer = yield* Fiber.join(asking)
      expect([answer.status, jsonOf(answer).error]).toEqual([503, "temporarily_unavailable"])
      expect(world.calls.insert.filter((kind) => kind === "client")).toEqual([])
      // It is nothing that the client did, so it stands in the log for the operator, and not among the refusals.
      expect([world.log.some((line) => line.includes('"not_done: ')), world.audit]).toEqual([true, []])
    },
    {
      policy: { maxUnprovenClients: ceiling },
      store: changed((below) => ({
        insert: (record) => (record.kind === "limit" ? Effect.fail(new Conflict()) : below.insert(record))
      }))
    }
  ))

test("a workspace that has places waits for no other that is held up", () =>
  inWorld((world) =>
    Effect.gen(function* () {
      const below = yield* Storage
      const slow = WorkspaceId.make("slow")
      const insert: typeof below.insert = (record) => (record.workspace === slow ? Effect.never : below.insert(record))
      const { clients, grants } = world.services
      const entropy = { bytes: (length: number) => new Uint8Array(length) }
      const room = makeClientRoom({ ...below, insert }, clients, grants, entropy, standardPolicy, yield* Clock.Clock)
      yield* room.take(world.workspace.id)
      yield* Effect.forkChild(room.take(slow), { startImmediately: true })
      const waited = yield* Effect.forkChild(room.take(world.workspace.id), { startImmediately: true })
      expect(waited.pollUnsafe()).toEqual(Exit.void)
    }).pipe(Effect.provide(Memory.layer, { local: true }))
  ))

test("a grant that could not be removed with its client is said in the log, and keeps no client here", () =>
  inWorld(
    function* (world) {
      const made = yield* fill(world, most)
      const written = world.log.length
      expect(yield* clear(world)).toBe(1)
      expect(yield* there(world, made)).toEqual(made.map((client) => client !== made[0]))
      const warned = world.log.slice(written).filter((line) => line.includes(`"client":"${made[0]?.id}"`))
      expect(warned).toEqual([expect.stringMatching(/^\[\["[^"]{20}/)])
    },
    {
      policy: { maxUnprovenClients: ceiling },
      store: changed((below) => ({
        remove: (key) =>
          key.kind === "grant"
            ? Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
            : below.remove(key)
      }))
    }
  ))

test("one that a person lets in while the clients are counted stays, with its own grant; the log says how many went", () => {
  let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
  const watched = Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({
      ...below,
      list: (listing: Listing) => Effect.tap(below.list(listing), () => Effect.ignore(Effect.suspend(() => meanwhile)))
    }))
  )
  return inWorld(
    function* (world) {
      const [chosen, ...rest] = yield* fill(world, ceiling + 1)
      if (chosen === undefined) throw new Error("none was made")
      yield* actAlone(world, chosen)
      const before = yield* Effect.fromNullishOr(yield* stored(world, chosen))
      const { clients } = world.services
      meanwhile = Effect.suspend(() => {
        meanwhile = Effect.void
        return clients.markProven(world.workspace.id, before, Instant.make(t0))
      })
      yield* clear(world)
      const grant = { workspace: world.workspace.id, kind: "grant", id: before.workspaceGrant } as const
      expect((yield* world.storage.get(grant))._tag).toBe("Some")
      expect((yield* stored(world, chosen))?.provenAt).toBe(Instant.make(t0))
      expect(yield* there(world, rest)).toEqual(rest.map(() => true))
      const written = world.log.length
      yield* fill(world, 1)
      expect(yield* clear(world)).toBe(1)
      expect(world.log.slice(written).some((line) => line.includes('"clients":1'))).toBe(true)
    },
    { store: Layer.provide(watched, Memory.layer), policy: { maxUnprovenClients: ceiling } }
  )
})
