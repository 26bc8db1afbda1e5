import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Client } from "../../core/client/Client.ts"
import {
  DocumentAddress as Address,
  clientKey,
  type DocumentAddress,
  readSealedIdentifier
} from "../../core/client/ClientIdentifier.ts"
import { documentLimits } from "../../core/engine/BroughtClients.ts"
import { type Document, DocumentFault, Documents } from "../../core/ports/Documents.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { Issuer, type OpenWorkspace } from "../../core/workspace/Workspace.ts"
import { passing } from "../given/auditContext.ts"
import { documentMembers } from "../given/documentsWeb.ts"
import { registerClient } from "../given/flow.ts"
import { inWorld, type Steps, t0, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

const address = Address.make("https://app.example.org/client.json")
const elsewhere = Address.make("https://other.example/client.json")
const minute = 60_000
const day = 24 * 60 * minute

/** Hosts of documents, each as fresh as the test says; and what was asked of them. */
class Web {
  readonly asked: Array<readonly [address: string, asOf: number | undefined]> = []
  readonly limits: Array<unknown> = []
  /** Fails with this, where it is set. */
  fault: DocumentFault["reason"] | undefined
  name = "Test Program"
  freshFor = 10 * minute
  /** The age of a document, unless the request asks for a newer one. */
  age = 0
  malformed = false
  gate: Effect.Effect<void> = Effect.void

  readonly documents = Documents.of({
    post: Documents.none.post,
    fetch: (at, limits, asOf) =>
      Effect.gen({ self: this }, function* () {
        this.asked.push([at, asOf])
        this.limits.push(limits)
        yield* this.gate
        if (this.fault !== undefined) return yield* new DocumentFault({ reason: this.fault })
        const now = yield* currentInstant
        const fetchedAt = Instant.make(asOf === undefined ? now - this.age : now)
        const isBad = this.malformed && asOf === undefined
        const members = { client_id: at, ...documentMembers, client_name: this.name }
        const document: Document = {
          body: isBad ? "[]" : JSON.stringify(members),
          fetchedAt,
          freshUntil: Instant.make(fetchedAt + this.freshFor)
        }
        return document
      })
  })
}

type Body = (world: World, web: Web) => Steps<void>

const withWeb = (body: Body, options: WorldOptions = {}): Promise<void> => {
  const web = new Web()
  return inWorld((world) => body(world, web), { documents: web.documents, ...options })
}

const meet = (world: World, at: DocumentAddress = address, workspace: OpenWorkspace = world.workspace) =>
  world.services.brought.meet(workspace, at)

const stored = (world: World, at: DocumentAddress = address) =>
  world.services.clients.findStored(world.workspace.id, clientKey(at))

/** A token endpoint's question, with the client's record as it is. */
const prove = Effect.fnUntraced(function* (world: World, at: DocumentAddress = address) {
  const call = { workspace: world.workspace, requestId: "asks", now: yield* currentInstant }
  return yield* world.services.brought.prove(call, at, yield* stored(world, at))
})

const admitted = Effect.fnUntraced(function* (world: World, at: DocumentAddress = address) {
  const { brought } = yield* meet(world, at)
  if (brought === undefined) throw new Error("was met before")
  yield* world.services.brought.admit(world.workspace, passing(world), brought)
  return yield* stored(world, at)
})

const nameOf = (client: Client | undefined) => client?.about.client_name

/** How it fails, in one word: why there is no such client, or what could not be had. */
const faultOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.result(effect), (outcome) => {
    if (Result.isSuccess(outcome)) return "met"
    const { _tag, port, reason } = outcome.failure as { _tag: string; port?: string; reason?: string }
    return _tag === "NoSuchClient" ? reason : `${port}: ${reason}`
  })

describe("a document that cannot be had", () => {
  const rows: ReadonlyArray<readonly [DocumentFault["reason"], string]> = [
    ["bad_address", "document_address"],
    ["redirected", "document_malformed"],
    ["not_json", "document_malformed"],
    ["too_long", "document_too_long"],
    ["no_adapter", "documents: no_adapter"],
    ["address_refused", "documents: address_refused"],
    ["unreachable", "documents: unreachable"],
    ["timed_out", "documents: timed_out"],
    ["status", "documents: status"],
    ["busy", "documents: busy"]
  ]
  for (const [reason, expected] of rows) {
    test(`is the client's own fault, or an outage: ${reason}`, () =>
      withWeb(function* (world, web) {
        web.fault = reason
        expect(yield* faultOf(meet(world))).toBe(expected)
        expect(yield* faultOf(prove(world))).toBe(expected)
        expect(yield* stored(world)).toBeUndefined()
      }))
  }

  test("is asked for anew where an older one is no client, and once where it came just now", () =>
    withWeb(function* (world, web) {
      web.malformed = true
      expect(yield* faultOf(meet(world))).toBe("document_malformed")
      expect(web.asked).toEqual([[address, undefined]])
      web.age = 1
      expect(yield* faultOf(meet(world))).toBe("met")
      expect(web.asked.slice(1)).toEqual([
        [address, undefined],
        [address, t0]
      ])
      web.malformed = false
      expect(yield* faultOf(meet(world))).toBe("met")
      expect(web.asked).toHaveLength(4)
    }))

  test("may take so much, and is kept for so long", () =>
    withWeb(function* (world, web) {
      yield* meet(world)
      expect(web.limits).toEqual([{ longest: 5120, within: 5000, freshFor: { least: 5 * minute, most: day } }])
      expect(web.limits).toEqual([documentLimits])
    }))
})

describe("whose documents are taken", () => {
  const from = (documents: ReadonlyArray<string>) =>
    RegistrationPolicy.withDocuments(RegistrationPolicy.layerOpen, documents)
  interface Row {
    readonly what: string
    readonly server?: ReadonlyArray<string>
    readonly workspace?: Partial<OpenWorkspace>
    readonly offered?: boolean
    readonly offeredIn: boolean
    readonly takes: readonly [app: boolean, other: boolean]
  }
  const rows: ReadonlyArray<Row> = [
    { what: "all, where no setting says anything", offeredIn: true, takes: [true, true] },
    { what: "those of the server", server: ["app.example.org"], offeredIn: true, takes: [true, false] },
    { what: "none of the server's", server: [], offered: false, offeredIn: false, takes: [false, false] },
    {
      what: "those of the workspace",
      workspace: { clientDocuments: ["app.example.org"] },
      offeredIn: true,
      takes: [true, false]
    },
    { what: "none of the workspace's", workspace: { clientDocuments: [] }, offeredIn: false, takes: [false, false] },
    {
      what: "those that both name",
      server: ["app.example.org", "other.example"],
      workspace: { clientDocuments: ["other.example", "third.example"] },
      offeredIn: true,
      takes: [false, true]
    },
    { what: "none of its owners'", workspace: { ownersDocuments: [] }, offeredIn: false, takes: [true, true] },
    { what: "any of its owners'", workspace: { ownersDocuments: "any" }, offeredIn: true, takes: [true, true] }
  ]
  for (const { offered = true, offeredIn, server, takes, what, workspace } of rows) {
    const own = workspace?.clientDocuments && { clientDocuments: workspace.clientDocuments }
    test(what, () =>
      withWeb(
        function* (world, web) {
          const { brought } = world.services
          const here = { ...world.workspace, ...workspace }
          expect([brought.offered, brought.offeredIn(here)]).toEqual([offered, offeredIn])
          for (const [at, is] of [
            [address, takes[0]],
            [elsewhere, takes[1]]
          ] as const) {
            web.asked.length = 0
            expect([at, yield* faultOf(meet(world, at, here))]).toEqual([at, is ? "met" : "unknown"])
            // The server does not fetch a document that it does not take.
            expect([at, web.asked.length]).toEqual([at, is ? 1 : 0])
          }
        },
        { workspaces: [{ ...theWorkspace, ...own }], ...(server && { registration: from(server) }) }
      )
    )
  }

  test("those that owners name are asked of the store, and who is blocked there is refused", () =>
    withWeb(function* (world, web) {
      const { brought, openings } = world.services
      yield* openings.takeDocuments(world.workspace, ["app.example.org", "evil.example"])
      yield* openings.block(world.workspace, () => ["*.example", "app.example.org"])
      expect(yield* faultOf(meet(world))).toBe("document_refused")
      expect(yield* faultOf(meet(world, elsewhere))).toBe("unknown")
      expect(yield* faultOf(meet(world, Address.make("https://evil.example/c")))).toBe("document_refused")
      yield* openings.block(world.workspace, () => [])
      expect(yield* faultOf(meet(world))).toBe("met")
      expect(yield* faultOf(meet(world, elsewhere))).toBe("unknown")
      expect(web.asked).toEqual([[address, undefined]])
      expect(brought.offered).toBe(true)
    }))

  test("none, of a server that fetches nothing", () =>
    inWorld(function* (world) {
      const { brought } = world.services
      expect([brought.offered, brought.offeredIn(world.workspace)]).toEqual([false, false])
      expect(yield* faultOf(meet(world))).toBe("unknown")
      expect(yield* faultOf(prove(world))).toBe("unknown")
    }))
})

test("so many wait for one document and no more, however they leave; who waits for another is none of them", () =>
  withWeb(function* (world, web) {
    const gate = yield* Deferred.make<void>()
    web.gate = Deferred.await(gate)
    const asking = (count: number, at = address) =>
      Effect.all(
        Array.from({ length: count }, () => Effect.forkChild(faultOf(meet(world, at)), { startImmediately: true }))
      )
    const [first, ...others] = yield* asking(32)
    expect(web.asked).toHaveLength(32)
    expect(yield* faultOf(meet(world))).toBe("documents: busy")
    yield* asking(1, elsewhere)
    expect(web.asked.length).toBe(33)
    if (first !== undefined) yield* Fiber.interrupt(first)
    const again = yield* asking(1)
    expect(web.asked).toHaveLength(34)
    expect(yield* faultOf(meet(world))).toBe("documents: busy")
    yield* Deferred.succeed(gate, undefined)
    expect(new Set(yield* Fiber.joinAll([...others, ...again]))).toEqual(new Set(["met"]))
    const closed = yield* Deferred.make<void>()
    web.gate = Deferred.await(closed)
    web.asked.length = 0
    yield* asking(33)
    expect(web.asked).toHaveLength(32)
    yield* Deferred.succeed(closed, undefined)
  }))

describe("a client that was let in", () => {
  test("is taken as it is for as long as its document is fresh, and then by what that says", () =>
    withWeb(function* (world, web) {
      const { brought, clients } = world.services
      expect(nameOf(yield* admitted(world))).toBe("Test Program")
      web.asked.length = 0
      web.name = "Renamed"
      const isFresh = (client: Client | undefined, over: Partial<OpenWorkspace> = {}, identifier: string = address) =>
        client !== undefined &&
        brought.isFresh({ ...world.workspace, ...over }, client, identifier, Instant.make(t0 + 10 * minute - 1))
      const record = yield* stored(world)
      expect(isFresh(record)).toBe(true)
      expect(isFresh(record, {}, elsewhere)).toBe(false)
      expect(isFresh(record, { clientDocuments: ["other.example"] })).toBe(false)
      expect(isFresh(record, { ownersDocuments: ["other.example"] })).toBe(false)
      expect(record && brought.isFresh(world.workspace, record, address, Instant.make(t0 + 10 * minute))).toBe(false)

      yield* TestClock.adjust(10 * minute - 1)
      const still = yield* meet(world)
      expect([nameOf(still.client), still.brought, web.asked]).toEqual(["Test Program", undefined, []])
      yield* TestClock.adjust(1)
      const anew = yield* meet(world)
      expect([nameOf(anew.client), anew.brought?.about.client_name, web.asked.length]).toEqual([
        "Renamed",
        "Renamed",
        1
      ])
      expect<unknown>([anew.client.createdAt, anew.client.workspaceGrant]).toEqual([
        Instant.make(t0),
        record?.workspaceGrant ?? ""
      ])
      // What was met is no record yet; a request that carries it needs no other look while it is fresh.
      expect(nameOf(yield* stored(world))).toBe("Test Program")
      web.name = "Renamed again"
      const carried = yield* brought.meet(world.workspace, address, anew.brought)
      expect([nameOf(carried.client), carried.brought, web.asked.length]).toEqual(["Renamed", anew.brought, 1])
      yield* TestClock.adjust(10 * minute)
      const late = yield* brought.meet(world.workspace, address, anew.brought)
      expect([nameOf(late.client), web.asked.length]).toEqual(["Renamed again", 2])
      // What the record was written from since is newer than what a request carries.
      yield* brought.admit(world.workspace, passing(world), late.brought ?? (anew.brought as never))
      const older = yield* brought.meet(world.workspace, address, anew.brought)
      expect([nameOf(older.client), older.brought, web.asked.length]).toEqual(["Renamed again", undefined, 2])
      // One that an owner disabled stays, whatever its document says.
      yield* clients.change(world.workspace.id, clientKey(address), (client) => ({ ...client, disabled: true }))
      yield* TestClock.adjust(11 * minute)
      const disabled = yield* meet(world)
      expect([disabled.client.disabled, web.asked.length]).toEqual([true, 2])
    }))

  test("is as a request carries it, unless the record was written from what came later", () =>
    withWeb(function* (world, web) {
      const { brought } = world.services
      const { brought: carried, client } = yield* meet(world)
      const again = yield* brought.meet(world.workspace, address, carried)
      expect([again.brought, web.asked.length]).toEqual([carried, 1])
      const read = carried && brought.asRead(world.workspace, carried, undefined)
      expect<unknown>(read).toEqual({ ...client, workspaceGrant: read?.workspaceGrant ?? "" })
      yield* TestClock.adjust(1)
      web.name = "Renamed"
      yield* admitted(world)
      const late = yield* brought.meet(world.workspace, address, carried)
      expect([nameOf(late.client), late.brought, web.asked.length]).toEqual(["Renamed", undefined, 2])
    }))

  test("is told once that it came, and each time that its document changed", () =>
    withWeb(function* (world, web) {
      const { audit, workspace } = world
      const events = () => audit.splice(0).map(({ at: _at, ...entry }) => entry)
      events()
      const client = clientKey(address)
      yield* admitted(world)
      const come = { _tag: "ClientRegistered", client, identifier: address } as const
      expect(events()).toEqual([{ workspace: workspace.id, requestId: "test", event: come }])
      const again = yield* prove(world)
      expect([nameOf(again), events()]).toEqual(["Test Program", []])
      yield* TestClock.adjust(1)
      web.name = "Renamed"
      expect(nameOf(yield* prove(world))).toBe("Renamed")
      expect(nameOf(yield* stored(world))).toBe("Renamed")
      const changed = { _tag: "ClientChanged", client, change: "document_changed" } as const
      expect(events()).toEqual([{ workspace: workspace.id, requestId: "asks", event: changed }])
      // The same once more, and one that is no newer.
      yield* TestClock.adjust(1)
      yield* prove(world)
      web.name = "Renamed again"
      web.age = 1
      yield* prove(world)
      expect([nameOf(yield* stored(world)), events()]).toEqual(["Renamed", []])
    }))

  test("proves itself by a stale copy while its host is away, for a week; the host is left alone for half a minute", () =>
    withWeb(function* (world, web) {
      yield* admitted(world)
      yield* TestClock.adjust(20 * minute)
      web.asked.length = 0
      web.fault = "unreachable"
      const rows: ReadonlyArray<readonly [later: number, asked: number]> = [
        [0, 1],
        [0, 1],
        [1, 1],
        [29_998, 1],
        [1, 2],
        [29_999, 2],
        [1, 3]
      ]
      for (const [later, asked] of rows) {
        yield* TestClock.adjust(later)
        expect([nameOf(yield* prove(world)), web.asked.length]).toEqual(["Test Program", asked])
      }
      // A clock that was set back does not tell for how long it has been.
      yield* TestClock.setTime(t0 + 20 * minute)
      yield* prove(world)
      expect(web.asked).toHaveLength(4)
      const ends = t0 + 10 * minute + 7 * day
      yield* TestClock.setTime(ends - 1)
      expect(yield* faultOf(prove(world))).toBe("met")
      yield* TestClock.setTime(ends)
      expect(yield* faultOf(prove(world))).toBe("documents: unreachable")
      // What is held against it ends with the first answer.
      web.fault = undefined
      yield* TestClock.adjust(30_000)
      expect(yield* faultOf(prove(world))).toBe("met")
      web.fault = "timed_out"
      web.asked.length = 0
      yield* TestClock.adjust(1)
      yield* prove(world)
      expect(web.asked).toHaveLength(1)
    }))

  test("that an owner disabled is not fetched, nor is one whose record another identifier wrote", () =>
    withWeb(function* (world, web) {
      const { clients } = world.services
      yield* admitted(world)
      web.asked.length = 0
      const change = (next: (client: Client) => Client) => clients.change(world.workspace.id, clientKey(address), next)
      yield* change((client) => ({ ...client, disabled: true }))
      yield* TestClock.adjust(20 * minute)
      expect((yield* prove(world)).disabled).toBe(true)
      expect(web.asked).toEqual([])
      yield* change((client) => ({
        ...client,
        disabled: false,
        ...(client.origin && { origin: { ...client.origin, identifier: elsewhere } })
      }))
      expect(yield* faultOf(prove(world))).toBe("unknown")
      expect(yield* faultOf(meet(world))).toBe("unknown")
      expect(web.asked).toEqual([])
    }))

  test("whose time is over is another one when it comes back, and is met anew", () =>
    withWeb(function* (world, web) {
      const { clients } = world.services
      const before = yield* admitted(world)
      yield* clients.change(world.workspace.id, clientKey(address), (client) => ({
        ...client,
        provenAt: Instant.make(t0),
        expiresAt: Instant.make(t0 + 1)
      }))
      yield* TestClock.adjust(1)
      web.asked.length = 0
      const met = yield* meet(world)
      const proved = yield* prove(world)
      expect([met.client.provenAt, met.brought?.identifier, web.asked.length]).toEqual([null, address, 2])
      expect<unknown>([proved.id, proved.provenAt]).toEqual([before?.id ?? "", null])
      // To be asked for a token brings nothing back; to be let in does.
      expect((yield* stored(world))?.provenAt).toBe(Instant.make(t0))
      yield* admitted(world)
      expect((yield* stored(world))?.provenAt).toBe(null)
    }))

  test("from a host that is blocked in that moment leaves no record", () =>
    withWeb(function* (world) {
      const { brought, openings } = world.services
      const met = yield* meet(world)
      yield* openings.block(world.workspace, () => ["app.example.org"])
      const admit = brought.admit(world.workspace, passing(world), met.brought as never)
      expect(yield* faultOf(admit)).toBe("document_refused")
      expect(yield* stored(world)).toBeUndefined()
    }))
})

describe("a client whose identifier holds its registration", () => {
  const rowless = { policy: { registrationRows: "at_consent" } } as const
  const registered = Effect.fnUntraced(function* (world: World) {
    const { id } = yield* registerClient(world, { token_endpoint_auth_method: "none" })
    return yield* Effect.orDie(Effect.fromOption(readSealedIdentifier(id)))
  })

  test("is kept once a person lets it in, which is told once; one that was registered is kept as it is", () =>
    withWeb(function* (world) {
      const { brought, clients } = world.services
      const { id: here } = world.workspace
      const identifier = yield* registered(world)
      const { client } = yield* brought.registered(world.workspace, identifier)
      expect(yield* clients.findStored(here, client.id)).toBeUndefined()
      const kept = yield* brought.keep(world.workspace, passing(world), client)
      expect(yield* clients.findStored(here, client.id)).toEqual(kept)
      expect([kept.origin?.identifier as string, kept.origin?.asSealed]).toEqual([identifier, undefined])
      const events = world.audit.filter(({ event }) => event._tag === "ClientRegistered")
      expect(events.map(({ event }) => event)).toEqual([{ _tag: "ClientRegistered", client: client.id, identifier }])
      const { origin: _, ...plain } = kept
      expect(yield* brought.keep(world.workspace, passing(world), plain)).toBe(plain)
      expect(world.audit.filter(({ event }) => event._tag === "ClientRegistered")).toHaveLength(1)
      const { brought: none, client: found } = yield* brought.registered(world.workspace, identifier)
      expect([found, none]).toEqual([kept, undefined])
    }, rowless))

  test("that acts by itself has a record as it was sealed, where there is room; room is asked for once", () =>
    withWeb(function* (world) {
      const { brought, clients } = world.services
      const identifier = yield* registered(world)
      let asked = 0
      const room = Effect.sync(() => void asked++)
      const record = brought.record(world.workspace, passing(world), identifier, room)
      const first = yield* record
      expect([first.origin?.asSealed, asked]).toEqual([true, 1])
      expect(yield* record).toEqual(first)
      expect(asked).toBe(1)
      // Two that act at once leave one record, as it was sealed.
      const other = yield* registered(world)
      const inner = brought.record(world.workspace, passing(world), other, room)
      const outer = brought.record(world.workspace, passing(world), other, Effect.orDie(Effect.asVoid(inner)))
      const left = yield* outer
      expect([left.origin?.asSealed, yield* clients.findStored(world.workspace.id, left.id)]).toEqual([true, left])
      const told = world.audit.filter(({ event }) => event._tag === "ClientRegistered" && event.client === left.id)
      expect(told).toHaveLength(1)
      // A person who lets it in takes that away.
      const { client } = yield* brought.registered(world.workspace, identifier)
      yield* brought.keep(world.workspace, passing(world), client)
      const kept = yield* clients.findStored(world.workspace.id, first.id)
      expect([kept?.origin?.asSealed, kept?.origin?.identifier as string]).toEqual([undefined, identifier])
    }, rowless))

  test("that was deleted stays so, though its identifier still says all of it", () =>
    withWeb(function* (world) {
      const { brought, clients } = world.services
      const { id: here } = world.workspace
      const identifier = yield* registered(world)
      const { brought: said, client } = yield* brought.registered(world.workspace, identifier)
      const kept = yield* brought.keep(world.workspace, passing(world), client)
      yield* clients.end(here, kept, yield* currentInstant)
      expect(yield* faultOf(brought.registered(world.workspace, identifier))).toBe("unknown")
      expect(yield* faultOf(brought.meet(world.workspace, identifier))).toBe("unknown")
      expect(yield* faultOf(brought.keep(world.workspace, passing(world), client))).toBe("unknown")
      expect(yield* faultOf(brought.admit(world.workspace, passing(world), said as never))).toBe("unknown")
    }, rowless))

  test("is unknown in another workspace, under another record, or once its seal is gone", () =>
    withWeb(function* (world) {
      const { brought, clients } = world.services
      const identifier = yield* registered(world)
      const call = { workspace: world.workspace, requestId: "asks", now: Instant.make(t0) }
      expect((yield* brought.prove(call, identifier, undefined)).id).toBe(clientKey(identifier))
      const other = { ...world.workspace, issuer: Issuer.make("https://other.example.com") }
      expect(yield* faultOf(brought.registered(other, identifier))).toBe("unknown")
      expect(yield* faultOf(brought.prove({ ...call, workspace: other }, identifier, undefined))).toBe("unknown")
      const { client } = yield* brought.registered(world.workspace, identifier)
      const kept = yield* brought.keep(world.workspace, passing(world), client)
      expect(yield* brought.prove(call, identifier, kept)).toEqual(kept)
      const taken = yield* clients.change(world.workspace.id, kept.id, ({ origin: _, ...one }) => one)
      expect(yield* faultOf(brought.prove(call, identifier, taken))).toBe("unknown")
      expect(yield* faultOf(brought.registered(world.workspace, identifier))).toBe("unknown")
    }, rowless))
})
