import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import {
  issuerOf,
  type MayMove,
  makeOpenings,
  moveWorkspace,
  neverMoves,
  type Openings,
  workspaceKind
} from "../../core/engine/Openings.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import { answerAndKeep } from "../../core/grant/Decision.ts"
import type { AuditEntry } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { currentInstant, later } from "../../core/rules/Instant.ts"
import { ResourceAddress } from "../../core/rules/Resource.ts"
import { Issuer, type OpenWorkspace, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type Away, type Calls, countingStorage } from "../given/countingStorage.ts"
import { aClient, t0, theWorkspace } from "../given/World.ts"

/** How long a process may go on with what it knows of a workspace. */
const staleness = 5000

const production = theWorkspace
const staging: Workspace = { ...production, issuer: Issuer.make("https://staging.example.com") }
const anotherName: Workspace = { ...production, name: "Another name" }

interface Given {
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly calls: Calls
  readonly away: Away
  readonly events: Array<AuditEntry>
  /** The openings of a process of its own. */
  readonly process: (mayMove?: MayMove) => ReturnType<typeof makeOpenings>
}

const inStore = <A, E>(body: (given: Given) => Effect.Effect<A, E, Entropy>) => {
  const calls: Calls = { get: [], insert: [], replace: [], remove: [], list: [] }
  const away: Away = new Set()
  const events: Array<AuditEntry> = []
  const audit = { record: (entry: AuditEntry) => Effect.sync(() => void events.push(entry)) }
  const program = Effect.gen(function* () {
    const storage = yield* Storage
    const entropy = yield* Entropy
    const process: Given["process"] = (mayMove = neverMoves) =>
      makeOpenings({ storage, entropy, audit, staleness }, mayMove)
    return yield* body({ storage, entropy, calls, away, events, process })
  })
  const store = countingStorage(calls, away).pipe(Layer.provideMerge(Memory.layer))
  return Effect.runPromise(Effect.provide(program, Layer.mergeAll(store, Entropy.layer, Logger.layer([]))))
}

const silent = { record: () => Effect.void }

describe("what an owner changes", () => {
  const blocked = ({ blockedHosts = [] }: Pick<OpenWorkspace, "blockedHosts">) => blockedHosts
  const block = (openings: Openings, workspace: OpenWorkspace, host: string) =>
    openings.block(workspace, (before) => [...before, host])

  test("is known to every request of this process that comes afterwards, however many come at once", () =>
    inStore(({ process }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        const now = yield* currentInstant
        const [one, other] = ["one.example", "other.example"]
        for (const [host, known] of [
          [one, [one]],
          [other, [one, other]]
        ] as const) {
          yield* block(openings, workspace, host)
          const seen = yield* Effect.all(
            [1, 2, 3].map(() => openings.current(workspace, now)),
            {
              concurrency: "unbounded"
            }
          )
          expect(seen.map(blocked)).toEqual([known, known, known])
        }
      })
    ))

  test("is not forgotten again by a request that read what was there before", () =>
    inStore(({ process, storage }) =>
      Effect.gen(function* () {
        const writer = process()
        const workspace = yield* writer.open(production)
        const answers = yield* Deferred.make<void>()
        let late = true
        const slow = Storage.of({
          ...storage,
          get: (key) =>
            Effect.flatMap(storage.get(key), (found) => {
              const waits = late && key.kind === "workspace"
              return waits ? Effect.as(Deferred.await(answers), found) : Effect.succeed(found)
            })
        })
        late = false
        const openings = makeOpenings({ storage: slow, entropy: yield* Entropy, audit: silent, staleness }, neverMoves)
        yield* openings.open(production)
        const now = later(yield* currentInstant, staleness)
        late = true
        const reading = yield* Effect.forkChild(openings.current(workspace, now), { startImmediately: true })
        yield* Effect.yieldNow
        late = false
        yield* block(openings, workspace, "one.example")
        expect(blocked(yield* openings.current(workspace, now))).toEqual(["one.example"])
        yield* Deferred.succeed(answers, undefined)
        expect(blocked(yield* Fiber.join(reading))).toEqual(["one.example"])
        expect(blocked(yield* openings.current(workspace, now))).toEqual(["one.example"])
      })
    ))
})

describe("what is known of a workspace", () => {
  const block = (openings: Openings, workspace: OpenWorkspace, ...hosts: ReadonlyArray<string>) =>
    openings.block(workspace, (before) => (hosts.length === 0 ? before : [...before, ...hosts]))

  test("is read once after each change here, and each time it is old, and is the same where nothing changed", () =>
    inStore(({ calls, process }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        let now = yield* currentInstant
        /** Three that come one after the other, and what they cost. */
        const three = Effect.gen(function* () {
          calls.get.length = 0
          const seen = yield* Effect.forEach([1, 2, 3], () => openings.current(workspace, now))
          expect(new Set(seen).size).toBe(1)
          return [seen[0], [...calls.get]] as const
        })
        const [first, nothing] = yield* three
        expect(nothing).toEqual([])
        // It came from the store by then, with its version.
        expect(yield* block(openings, workspace, "one.example")).toBe(true)
        const [changed, afterChange] = yield* three
        expect([changed?.blockedHosts, first?.blockedHosts, afterChange]).toEqual([
          ["one.example"],
          undefined,
          ["workspace"]
        ])
        now = later(now, staleness)
        const [same, afterAWhile] = yield* three
        expect([same === changed, afterAWhile]).toEqual([true, ["workspace"]])
        expect(yield* block(openings, workspace)).toBe(false)
        const [still, afterNothing] = yield* three
        expect([still, afterNothing]).toEqual([changed, ["workspace"]])
      })
    ))

  test("is read again at once where the store did not answer, and stays where the store has lost it", () =>
    inStore(({ away, process, storage }) =>
      Effect.gen(function* () {
        const [openings, other] = [process(), process()]
        const workspace = yield* openings.open(production)
        yield* block(other, workspace, "one.example")
        const now = later(yield* currentInstant, staleness)
        away.add("get workspace")
        expect((yield* Effect.flip(openings.current(workspace, now)))._tag).toBe("StorageUnavailable")
        away.clear()
        expect((yield* openings.current(workspace, now)).blockedHosts).toEqual(["one.example"])
        yield* storage.remove({ workspace: production.id, kind: "workspace", id: production.id })
        expect((yield* openings.current(workspace, later(now, staleness))).blockedHosts).toEqual(["one.example"])
        expect(yield* openings.blockedHosts(production.id)).toEqual([])
      })
    ))

  for (const sealedBefore of [true, false]) {
    test(`is kept as it was with the first change, where the store has lost it: ${sealedBefore}`, () =>
      inStore(({ process, storage }) =>
        Effect.gen(function* () {
          if (sealedBefore) yield* aClient(storage)
          const openings = process()
          const workspace = yield* openings.open(production)
          yield* storage.remove({ workspace: production.id, kind: "workspace", id: production.id })
          yield* block(openings, workspace, "one.example")
          expect(yield* process().open(production)).toEqual({
            ...production,
            sealedBefore,
            blockedHosts: ["one.example"]
          })
        })
      ))
  }

  test("is due where this server has opened it, and a while ago, or its clock was set back as far", () =>
    inStore(({ process }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(t0)
        const openings = process()
        const now = yield* currentInstant
        const times = [staleness - 1, staleness, 1 - staleness, -staleness].map((millis) => later(now, millis))
        expect(times.map((at) => openings.isDue(production, at))).toEqual([false, false, false, false])
        const workspace = yield* openings.open(production)
        expect(times.map((at) => openings.isDue(workspace, at))).toEqual([false, true, false, true])
      }).pipe(Effect.provide(TestClock.layer()))
    ))

  test("is as old where the host makes the workspace anew for each request, and is changed there too", () =>
    inStore(({ calls, process }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        const now = yield* currentInstant
        const anew = () => openings.known({ ...anotherName }) ?? workspace
        expect(anew()).toEqual({ ...anotherName, sealedBefore: false })
        const after = [0, staleness - 1, staleness].map((millis) => later(now, millis))
        expect(after.map((at) => openings.isDue(anew(), at))).toEqual([false, false, true])
        yield* block(openings, anew(), "one.example")
        for (const reads of [["workspace"], []]) {
          calls.get.length = 0
          expect((yield* openings.current(anew(), now)).blockedHosts).toEqual(["one.example"])
          expect(calls.get).toEqual(reads)
        }
        expect(openings.isDue(anew(), now)).toBe(false)
      }).pipe(Effect.provide(TestClock.layer()))
    ))

  test.each([staleness, -staleness])(
    "is not waited for by a document for long where the store hangs, and asked for again a moment later: %i ms",
    (moment) =>
      inStore(({ entropy, storage }) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(t0)
          let hangs = true
          let asked = 0
          const get: typeof storage.get = (key) => {
            asked++
            return hangs ? Effect.never : storage.get(key)
          }
          const openings = makeOpenings({ storage: { ...storage, get }, entropy, audit: silent, staleness }, neverMoves)
          yield* makeOpenings({ storage, entropy, audit: silent, staleness }, neverMoves).open(production)
          const now = yield* currentInstant
          const waiting = yield* Effect.forkChild(openings.asKnown(production, now))
          yield* TestClock.adjust("1 second")
          expect(yield* Fiber.join(waiting)).toBe(production)
          hangs = false
          for (const [pause, times] of [
            [0, 1],
            [moment, 2]
          ] as const) {
            yield* openings.asKnown(production, later(now, pause))
            expect([pause, asked]).toEqual([pause, times])
          }
          expect(openings.known(production)).toBeDefined()
        }).pipe(Effect.provide(TestClock.layer()))
      )
  )

  test("is nothing of the same workspace under an issuer that this server has not opened", () =>
    inStore(({ calls, process }) =>
      Effect.gen(function* () {
        const openings = process()
        yield* openings.open(production)
        const muchLater = later(yield* currentInstant, 100 * staleness)
        calls.get.length = 0
        expect(openings.isDue(staging, muchLater)).toBe(false)
        expect(yield* openings.current(staging, muchLater)).toBe(staging)
        expect(yield* openings.asKnown(staging, muchLater)).toBe(staging)
        expect(calls.get).toEqual([])
      })
    ))

  test("is what is gone by while the store is away, and what fails where owners change it", () =>
    inStore(({ away, process }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        yield* block(openings, workspace, "one.example")
        const now = yield* currentInstant
        yield* openings.current(workspace, now)
        const muchLater = later(now, 100 * staleness)
        away.add("get workspace")
        expect((yield* openings.asKnown(workspace, muchLater)).blockedHosts).toEqual(["one.example"])
        expect(yield* Effect.flip(openings.current(workspace, muchLater))).toMatchObject({ _tag: "StorageUnavailable" })
        expect(yield* Effect.flip(block(openings, workspace, "b.example"))).toMatchObject({
          _tag: "StorageUnavailable"
        })
      })
    ))

  test("leaves all else that they decided as it is, and so does a move", () =>
    inStore(({ entropy, process, storage }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        const records = makeRecords(storage, workspaceKind)
        const kept = Effect.map(records.get(production.id, production.id), (found) => found?.value)
        let decided: object = { id: production.id, issuer: production.issuer, sealedBefore: false }
        for (const name of ["one", "two"]) {
          const resource = { at: ResourceAddress.make(`https://${name}.example`), name }
          const login = `https://login.${name}.example`
          const issuer = {
            issuer: login,
            keys: { _tag: "Fetched", jwksUri: `${login}/keys` },
            people: "known"
          } as const
          for (const [what, change] of [
            [
              { resources: [resource] },
              openings.list<boolean, never>(workspace, () => answerAndKeep([resource], true))
            ],
            [{ issuers: [issuer] }, openings.trust<boolean, never>(workspace, () => answerAndKeep([issuer], true))],
            [{ blockedHosts: [name] }, openings.block(workspace, () => [name])],
            [{ documents: [`${name}.example`] }, openings.takeDocuments(workspace, [`${name}.example`])]
          ] as const) {
            yield* change
            decided = { ...decided, ...what }
            expect<unknown>(yield* kept).toEqual(decided)
          }
        }
        yield* moveWorkspace({ storage, entropy }, production.id, staging.issuer)
        expect<unknown>(yield* kept).toEqual({ ...decided, issuer: staging.issuer })
      })
    ))

  test("is written where owners take other documents, and not where they take the same", () =>
    inStore(({ calls, process }) =>
      Effect.gen(function* () {
        const openings = process()
        const workspace = yield* openings.open(production)
        const some = ["app.example"]
        for (const [documents, changes] of [
          [some, true],
          [[...some], false],
          [["another.example"], true],
          ["any", true]
        ] as const) {
          calls.replace.length = 0
          expect(yield* openings.takeDocuments(workspace, documents)).toBe(changes)
          expect(calls.replace).toEqual(changes ? ["workspace"] : [])
          expect(yield* openings.current(workspace, yield* currentInstant)).toEqual({
            ...production,
            sealedBefore: false,
            ownersDocuments: documents
          })
        }
      })
    ))

  test("is opened by two processes at once, and by a third with one read", () =>
    inStore(({ calls, entropy, process, storage }) =>
      Effect.gen(function* () {
        const slow = Storage.of({ ...storage, get: (key) => Effect.tap(storage.get(key), () => Effect.yieldNow) })
        const two = [1, 2].map(() => makeOpenings({ storage: slow, entropy, audit: silent, staleness }, neverMoves))
        const opened = yield* Effect.all(
          two.map(({ open }) => open(production)),
          { concurrency: "unbounded" }
        )
        expect(opened.map(({ issuer }) => issuer)).toEqual([production.issuer, production.issuer])
        for (const made of Object.values(calls)) made.length = 0
        yield* process().open(production)
        expect(calls).toEqual({ get: ["workspace"], insert: [], replace: [], remove: [], list: [] })
      })
    ))
})

describe("a workspace", () => {
  test("belongs to the issuer that opened it first, for every process; another is refused, and says whose it is", () =>
    inStore(({ process, storage }) =>
      Effect.gen(function* () {
        expect(yield* issuerOf(storage, production.id)).toBeUndefined()
        expect((yield* process().open(production)).issuer).toBe(production.issuer)
        expect(yield* issuerOf(storage, production.id)).toBe(production.issuer)
        expect((yield* process().open(production)).issuer).toBe(production.issuer)
        const refused = yield* Effect.flip(process().open(staging))
        expect(refused).toMatchObject({
          _tag: "OtherIssuer",
          workspace: production.id,
          issuer: staging.issuer,
          recorded: production.issuer
        })
        expect(refused.message).toContain(production.issuer)
        const other = WorkspaceId.make("other")
        expect((yield* process().open({ ...staging, id: other })).issuer).toBe(staging.issuer)
      })
    ))

  test("is read once in each process, and known from then on, by any name, under no other issuer", () =>
    inStore(({ calls, process }) =>
      Effect.gen(function* () {
        const { known, open } = process()
        expect(known(production)).toBeUndefined()
        const opened = yield* open(production)
        expect(known(production)).toBe(opened)
        expect(known(anotherName)).toEqual({ ...anotherName, sealedBefore: false })
        expect(known(anotherName)).toBe(known(anotherName))
        expect(known(staging)).toBeUndefined()
        const reads = calls.get.length
        expect(yield* open(production)).toEqual({ ...production, sealedBefore: false })
        expect(calls.get).toHaveLength(reads)
        expect(calls.insert).toEqual(["workspace", "grant"])
        yield* Effect.flip(open(staging))
        expect(known(production)).toEqual({ ...production, sealedBefore: false })
      })
    ))

  test("is not opened where its record cannot be read, and is kept for good, in the one list of workspaces", () =>
    inStore(({ process, storage }) =>
      Effect.gen(function* () {
        const key = { workspace: production.id, kind: "workspace", id: production.id } as const
        const record = { ...key, owner: "workspace", expiresAt: null }
        for (const body of [{}, { id: production.id, issuer: 7, sealedBefore: false }, { issuer: production.issuer }]) {
          yield* storage.insert({ ...record, body: { ...body, _v: 1, _by: "x" } })
          expect((yield* Effect.flip(process().open(production)))._tag).toBe("StorageUnavailable")
          yield* storage.remove(key)
        }
        yield* process().open(production)
        const slice = { workspace: production.id, kind: "workspace", owner: "workspace" } as const
        const { records } = yield* storage.list({ ...slice, after: undefined, limit: 9 })
        expect(records).toEqual([
          {
            ...record,
            version: 1,
            body: {
              id: production.id,
              issuer: production.issuer,
              sealedBefore: false,
              _v: 1,
              _by: expect.any(String) as unknown as string
            }
          }
        ])
      })
    ))

  test("is not opened while the store is away, and is when that answers again", () =>
    inStore(({ away, process }) =>
      Effect.gen(function* () {
        const { known, open } = process()
        for (const call of ["get workspace", "list client", "insert workspace"] as const) {
          away.add(call)
          expect(yield* Effect.flip(open(production))).toMatchObject({ _tag: "StorageUnavailable" })
          expect(known(production)).toBeUndefined()
          away.delete(call)
        }
        yield* open(production)
      })
    ))

  test("that had clients before its record may hold what an earlier release sealed, until it moves", () =>
    inStore(({ entropy, process, storage }) =>
      Effect.gen(function* () {
        yield* aClient(storage)
        expect((yield* process().open(production)).sealedBefore).toBe(true)
        expect((yield* process().open(production)).sealedBefore).toBe(true)
        yield* moveWorkspace({ storage, entropy }, production.id, staging.issuer)
        expect((yield* process().open(staging)).sealedBefore).toBe(false)
      })
    ))

  test("that is new holds nothing that an earlier release sealed, also once clients register", () =>
    inStore(({ process, storage }) =>
      Effect.gen(function* () {
        yield* process().open(production)
        yield* aClient(storage)
        expect((yield* process().open(production)).sealedBefore).toBe(false)
      })
    ))

  test("moves when that is said, once, and the former issuer is refused from then on", () =>
    inStore(({ entropy, process, storage }) =>
      Effect.gen(function* () {
        const move = (to: Issuer) => moveWorkspace({ storage, entropy }, production.id, to)
        expect(yield* move(staging.issuer)).toBeUndefined()
        expect(yield* issuerOf(storage, production.id)).toBeUndefined()
        yield* process().open(production)
        expect(yield* move(staging.issuer)).toBe(production.issuer)
        expect(yield* move(staging.issuer)).toBe(staging.issuer)
        const records = makeRecords(storage, workspaceKind)
        expect((yield* records.get(production.id, production.id))?.version).toBe(2)
        expect((yield* process().open(staging)).issuer).toBe(staging.issuer)
        expect(yield* Effect.flip(process().open(production))).toMatchObject({ recorded: staging.issuer })
      })
    ))

  test.each([
    [true, "host program"],
    ["server itself", "server itself"]
  ] as const)(
    "moves at its opening where %p is said, and the audit stream is told of the move as of the %s",
    (says, by) =>
      inStore(({ events, process }) =>
        Effect.gen(function* () {
          yield* process().open(production)
          const asked: Array<unknown> = []
          const mayMove = (answer: ReturnType<MayMove>) => (from: Issuer, to: Workspace) => {
            asked.push([from, to.issuer])
            return answer
          }
          yield* Effect.flip(process(mayMove(false)).open(staging))
          expect(events).toEqual([])
          yield* process(mayMove(says)).open(staging)
          expect(asked).toEqual([
            [production.issuer, staging.issuer],
            [production.issuer, staging.issuer]
          ])
          expect(events.map(({ event, workspace }) => ({ event, workspace }))).toEqual([
            {
              event: { _tag: "WorkspaceMoved", from: production.issuer, to: staging.issuer, by },
              workspace: production.id
            }
          ])
          yield* process(mayMove(says)).open(staging)
          expect(events).toHaveLength(1)
        })
      )
  )
})

describe("a workspace that moves away from a process that runs", () => {
  test("is served there no more once that was noticed, is not taken back by itself, and is when it comes back", () =>
    inStore(({ entropy, process, storage }) =>
      Effect.gen(function* () {
        const former = process(() => true)
        const workspace = yield* former.open(production)
        const now = yield* currentInstant
        yield* moveWorkspace({ storage, entropy }, production.id, staging.issuer)
        const before = later(now, staleness - 1000)
        expect(former.isDue(workspace, before)).toBe(false)
        expect(yield* former.current(workspace, before)).toBe(workspace)
        const then = later(now, staleness + 1000)
        expect(former.isDue(workspace, then)).toBe(true)
        const fault = yield* Effect.flip(former.current(workspace, then))
        expect(fault).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        expect(fault.message).toContain(staging.issuer)
        expect(former.known(production)).toBeUndefined()
        expect(yield* Effect.flip(former.open(production))).toMatchObject({ recorded: staging.issuer })
        expect(yield* issuerOf(storage, production.id)).toBe(staging.issuer)
        yield* moveWorkspace({ storage, entropy }, production.id, production.issuer)
        expect(yield* former.open(production)).toEqual({ ...production, sealedBefore: false })
      })
    ))

  test("is left to the server that follows another's word, under the issuer that it has now", () =>
    inStore(({ entropy, process, storage }) =>
      Effect.gen(function* () {
        const former = process()
        const workspace = yield* former.open(production)
        const then = later(yield* currentInstant, staleness)
        yield* moveWorkspace({ storage, entropy }, production.id, staging.issuer)
        yield* Effect.flip(former.current(workspace, then))
        expect((yield* former.open(staging)).issuer).toBe(staging.issuer)
        expect(yield* former.current(workspace, then)).toEqual(workspace)
        expect(former.known(staging)).toBeDefined()
      })
    ))
})

describe("over a store that no other process can write", () => {
  test("a workspace is read again once one was written, however soon, and never before", () => {
    const program = Effect.gen(function* () {
      const inner = yield* Storage
      const entropy = yield* Entropy
      let reads = 0
      const get: (typeof inner)["get"] = (key) => {
        reads++
        return inner.get(key)
      }
      const openings = makeOpenings({ storage: { ...inner, get }, entropy, audit: silent, staleness }, neverMoves)
      const workspace = yield* openings.open(production)
      const now = yield* currentInstant
      const muchLater = later(now, 100 * staleness)
      // Once for its own record, which the opening wrote.
      yield* openings.current(workspace, muchLater)
      reads = 0
      expect(openings.isDue(workspace, muchLater)).toBe(false)
      expect(yield* openings.current(workspace, muchLater)).toEqual(workspace)
      expect(reads).toBe(0)
      yield* moveWorkspace({ storage: inner, entropy }, production.id, staging.issuer)
      expect(openings.isDue(workspace, muchLater)).toBe(true)
      yield* Effect.flip(openings.current(workspace, muchLater))
      expect(reads).toBe(1)
    })
    const layers = Layer.mergeAll(Memory.layer, Entropy.layer, Logger.layer([]))
    return Effect.runPromise(Effect.provide(program, layers))
  })
})
