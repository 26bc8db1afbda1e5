import { describe, expect, test } from "bun:test"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import * as AtOnce from "../../adapters/memory/MemoryStorage.ts"
import {
  beginClientChanges,
  clientChangesKind,
  makeClientChanges,
  watchClients
} from "../../core/engine/ClientChanges.ts"
import { Storage, StorageUnavailable, writtenKept } from "../../core/ports/Storage.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

type Store = Storage["Service"]

const home = WorkspaceId.make("home")
const elsewhere = WorkspaceId.make("elsewhere")
const key = { workspace: home, kind: "grant", id: "clients of home" } as const

const entropy = { bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) }
const clientOf = (n: number) => ClientId.make(`${n}`.padStart(22, "c"))
const clientsTo = (count: number, from = 0) => Array.from({ length: count }, (_, n) => clientOf(from + n))

/** A store that other processes write, and that tells no process of it. */
const shared = ({ written: _, ...storage }: Store): Store => storage

const inStore = (body: (storage: Store) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.scoped(Layer.build(Layer.fresh(AtOnce.layerAtOnce))), (context) =>
    body(shared(Context.get(context, Storage)))
  ).pipe(Effect.runPromise)

/** A process, and what it has been told to forget since it was asked last. */
const processOver = (storage: Store) => {
  const forgotten: Array<readonly [string, ReadonlyArray<ClientId> | "all"]> = []
  const changes = makeClientChanges(storage, entropy, (workspace, clients) => void forgotten.push([workspace, clients]))
  return { ...changes, forgotten: () => forgotten.splice(0) }
}

/** As a store over a network: called is not yet answered. */
const later = (storage: Store): Store => ({ ...storage, get: (at) => Effect.suspend(() => storage.get(at)) })

const away = new StorageUnavailable({ outcome: "not_done", message: "the test said so" })

describe("a process", () => {
  test("that has learnt before forgets whom others told of since, each time once", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const [here, there] = [processOver(storage), processOver(storage)]
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([])
        yield* there.tell(home, clientOf(1))
        yield* there.tell(home, clientOf(2))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, clientsTo(2, 1)]])
        yield* here.learnAtOnce(home)
        yield* there.tell(elsewhere, clientOf(3))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([])
        yield* there.tell(home, clientOf(1))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, [clientOf(1)]]])
      })
    ))

  test("that learns for the first time forgets everything, where any change was ever told", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        yield* beginClientChanges(storage, home)
        const [here, there] = [processOver(storage), processOver(storage)]
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([])
        yield* there.tell(home, clientOf(1))
        yield* there.learnAtOnce(home)
        expect(there.forgotten()).toEqual([[home, "all"]])
      })
    ))

  test("that missed more than is listed forgets everything, and then again only whom it is told of", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const [here, there] = [processOver(storage), processOver(storage)]
        yield* here.learnAtOnce(home)
        for (const [round, missed] of [16, 17, 1].entries()) {
          const told = clientsTo(missed, 100 * round)
          yield* Effect.forEach(told, (client) => there.tell(home, client))
          yield* here.learnAtOnce(home)
          expect(here.forgotten()).toEqual([[home, missed === 17 ? "all" : told]])
        }
      })
    ))

  test("remembers what it has learnt of each of ten thousand workspaces that are in use in turn", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const [here, there] = [processOver(storage), processOver(storage)]
        yield* there.tell(home, clientOf(1))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, "all"]])
        for (let n = 1; n < 10_000; n++) yield* here.learnAtOnce(WorkspaceId.make(`w${n}`))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([])
      })
    ))

  test("forgets everything where the store was put back, and is right from then on", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const [here, there] = [processOver(storage), processOver(storage)]
        for (const client of clientsTo(3)) yield* there.tell(home, client)
        yield* here.learnAtOnce(home)
        here.forgotten()
        yield* storage.remove(key)
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, "all"]])
        yield* there.tell(home, clientOf(7))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, [clientOf(7)]]])
      })
    ))

  test("never has what was changed before it looked, by any process, in any order", () =>
    Effect.forEach(Array.from({ length: 60 }), (_, run) => {
      const dice = drawFrom(`${run}`)
      return Effect.promise(() =>
        inStore((storage) =>
          Effect.gen(function* () {
            const over = run % 2 === 0 ? storage : later(storage)
            const processes = Array.from({ length: 3 }, () => processOver(over))
            /** Whom each process may still have as they were. */
            const stale = processes.map(() => new Set<ClientId>())
            for (let step = 0; step < 80; step++) {
              const at = dice.below(processes.length)
              const process = processes[at]
              if (process === undefined) throw new Error("no process")
              if (dice.below(3) > 0) {
                const told = clientsTo(1 + dice.below(4), dice.below(40))
                yield* Effect.forEach(told, (client) => process.tell(home, client), { concurrency: "unbounded" })
                for (const one of stale) for (const client of told) one.add(client)
              } else {
                yield* process.learnWith(home, Effect.void)
                for (const [, clients] of process.forgotten()) {
                  if (clients === "all") stale[at]?.clear()
                  else for (const client of clients) stale[at]?.delete(client)
                }
                expect([...(stale[at] ?? [])]).toEqual([])
              }
            }
          })
        )
      )
    }).pipe(Effect.runPromise))
})

describe("telling", () => {
  test("a crowd takes a write or two, and each of them is told of", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const slowly = <A, E>(act: () => Effect.Effect<A, E>) => Effect.andThen(Effect.yieldNow, Effect.suspend(act))
        const slow: Store = {
          ...later(storage),
          replace: (expected, record) => slowly(() => storage.replace(expected, record)),
          insert: (record) => slowly(() => storage.insert(record))
        }
        const [here, there] = [processOver(storage), processOver(slow)]
        yield* here.learnAtOnce(home)
        const told = clientsTo(12)
        yield* Effect.forEach(told, (client) => there.tell(home, client), { concurrency: "unbounded" })
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, told]])
        expect(Option.getOrThrow(yield* storage.get(key)).version).toBe(2)
      })
    ))

  test("what could not be told fails for who told it, and is told with the next", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        let isAway = true
        const partly: Store = {
          ...storage,
          get: (at) => (isAway ? Effect.fail(away) : storage.get(at))
        }
        const [here, there] = [processOver(storage), processOver(partly)]
        yield* here.learnAtOnce(home)
        expect(yield* Effect.flip(there.tell(home, clientOf(1)))).toEqual(away)
        isAway = false
        yield* there.tell(home, clientOf(2))
        yield* here.learnAtOnce(home)
        expect(here.forgotten()).toEqual([[home, clientsTo(2, 1)]])
      })
    ))

  test("two processes at once lose no client", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const here = processOver(storage)
        yield* here.learnAtOnce(home)
        const slow: Store = { ...storage, get: (at) => Effect.tap(storage.get(at), () => Effect.yieldNow) }
        const others = [processOver(slow), processOver(slow)]
        yield* Effect.forEach(
          others,
          (other, n) => Effect.forEach(clientsTo(5, 10 * n), (client) => other.tell(home, client)),
          { concurrency: "unbounded" }
        )
        yield* here.learnAtOnce(home)
        const forgotten = here.forgotten().flatMap(([, clients]) => [...clients])
        expect(forgotten.sort()).toEqual([...clientsTo(5), ...clientsTo(5, 10)].sort())
      })
    ))
})

describe("learning", () => {
  test("at once asks a store that answers at once, and no other", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        let asked = 0
        const counted: Store = {
          ...storage,
          get: (at) =>
            Effect.suspend(() => {
              asked++
              return storage.get(at)
            })
        }
        yield* processOver(counted).tell(home, clientOf(1))
        asked = 0
        const slow = processOver(counted)
        yield* slow.learnAtOnce(home)
        expect([asked, slow.forgotten()]).toEqual([0, []])
        expect(Exit.isExit(processOver(storage).learnAtOnce(home))).toBe(true)
      })
    ))

  test("with a read leaves in the read's own turn, and is done before what was read is given on", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const answer = yield* Deferred.make<void>()
        const waiting = <A, E>(name: string, read: Effect.Effect<A, E>) =>
          Effect.suspend(() => {
            asked.push(name)
            return Effect.andThen(Deferred.await(answer), read)
          })
        const slow: Store = { ...storage, get: (at) => waiting("changes", storage.get(at)) }
        const [here, there] = [processOver(slow), processOver(storage)]
        yield* there.tell(home, clientOf(1))
        const reading = yield* Effect.forkChild(here.learnWith(home, waiting("grant", Effect.succeed("a grant"))), {
          startImmediately: true
        })
        expect(asked).toEqual(["changes", "grant"])
        yield* Deferred.succeed(answer, undefined)
        expect(yield* Fiber.join(reading)).toBe("a grant")
        expect(here.forgotten()).toEqual([[home, "all"]])
      })
    ))

  test("with a read costs a store that answers at once no fiber", () =>
    inStore((storage) =>
      Effect.sync(() => {
        const here = processOver(storage)
        expect(here.learnWith(home, Effect.succeed("a grant"))).toEqual(Exit.succeed("a grant"))
        expect(here.learnWith(home, Effect.fail(away))).toEqual(Exit.fail(away))
      })
    ))

  test("fails where the store does not answer, or where a later release wrote what it has", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        const gone = processOver({ ...storage, get: () => Effect.fail(away) })
        for (const learning of [gone.learnAtOnce(home), gone.learnWith(home, Effect.succeed("a grant"))]) {
          expect(yield* Effect.flip(learning)).toEqual(away)
        }
        const slowly = processOver({ ...storage, get: () => Effect.suspend(() => Effect.fail(away)) })
        expect(yield* Effect.flip(slowly.learnWith(home, Effect.succeed("a grant")))).toEqual(away)
        yield* storage.insert({
          ...key,
          owner: "clients",
          expiresAt: null,
          body: { _v: clientChangesKind.version + 1, _by: "a later release" }
        })
        const here = processOver(storage)
        for (const _ of [1, 2]) {
          expect(yield* Effect.flip(here.learnAtOnce(home))).toMatchObject({
            _tag: "StorageUnavailable",
            outcome: "not_done"
          })
        }
        expect(here.forgotten()).toEqual([])
      })
    ))
})

test("what a workspace begins with is there once, and hides nothing that was told before", () =>
  inStore((storage) =>
    Effect.gen(function* () {
      yield* beginClientChanges(storage, home)
      expect(yield* storage.get(key)).toMatchObject(
        Option.some({ owner: "clients", version: 1, expiresAt: null, body: { count: 0, clients: [] } })
      )
      yield* processOver(storage).tell(home, clientOf(1))
      yield* beginClientChanges(storage, home)
      expect(Option.getOrThrow(yield* storage.get(key)).body).toMatchObject({ count: 1, clients: [clientOf(1)] })
      yield* beginClientChanges({ ...storage, insert: () => Effect.fail(away) }, elsewhere)
    })
  ))

describe("over a store that tells what was written", () => {
  /** The same, with as much at hand as such a store promises. */
  const watching = (before = 0) => {
    const last: Array<{ readonly workspace: WorkspaceId; readonly id: ClientId }> = []
    const written = { count: before, last }
    const forgotten: Array<string> = []
    const told: Array<string> = []
    const changes = watchClients(
      written,
      { tell: (workspace, client) => Effect.sync(() => void told.push(`${workspace} ${client}`)) },
      {
        one: (workspace, client) => void forgotten.push(`${workspace} ${client}`),
        everything: () => void forgotten.push("everything")
      }
    )
    return {
      ...changes,
      write: (workspace: WorkspaceId, clients: ReadonlyArray<ClientId>) => {
        last.push(...clients.map((id) => ({ workspace, id })))
        written.count += clients.length
        // At least as many as the port says, as a store keeps them in batches.
        if (last.length > 2 * writtenKept) last.splice(0, last.length - writtenKept)
      },
      forgotten: () => forgotten.splice(0),
      told
    }
  }

  test.each(["learnAtOnce", "learnWith"] as const)(
    "%s forgets the clients written since the last time, and all where those were too many",
    (learn) =>
      Effect.gen(function* () {
        const here = watching(7)
        const learnt = () => (learn === "learnWith" ? here.learnWith(home, Effect.void) : here.learnAtOnce(home))
        yield* learnt()
        expect(here.forgotten()).toEqual([])
        here.write(home, clientsTo(2))
        here.write(elsewhere, clientsTo(1))
        // One look, for whichever workspace, learns of all.
        yield* learnt()
        expect(here.forgotten()).toEqual([
          ...clientsTo(2).map((client) => `home ${client}`),
          `elsewhere ${clientOf(0)}`
        ])
        yield* learnt()
        expect(here.forgotten()).toEqual([])
        for (const [missed, found] of [
          [1, 1],
          [writtenKept, writtenKept],
          [writtenKept + 1, "everything"],
          [1, 1]
        ] as const) {
          here.write(home, clientsTo(missed))
          yield* learnt()
          const clients = clientsTo(missed).map((client) => `home ${client}`)
          expect(here.forgotten()).toEqual(found === "everything" ? ["everything"] : clients)
        }
      }).pipe(Effect.runPromise)
  )

  test("reads once it has learnt, and tells as it did without one", () =>
    Effect.gen(function* () {
      const here = watching()
      here.write(home, clientsTo(1))
      expect(yield* here.learnWith(home, Effect.succeed("a grant"))).toBe("a grant")
      expect(yield* Effect.flip(here.learnWith(home, Effect.fail(away)))).toBe(away)
      expect(here.forgotten()).toEqual([`home ${clientOf(0)}`])
      yield* here.tell(home, clientOf(3))
      expect(here.told).toEqual([`home ${clientOf(3)}`])
    }).pipe(Effect.runPromise))

  test("begins with no record, which no process would read", () =>
    inStore((storage) =>
      Effect.gen(function* () {
        yield* beginClientChanges({ ...storage, written: () => ({ count: 0, last: [] }) }, home)
        expect(yield* storage.get(key)).toEqual(Option.none())
      })
    ))
})
