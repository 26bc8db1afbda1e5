import { describe, expect, test } from "bun:test"
import { Clock, Deferred, Effect, Exit, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  type FoundWorkspaces,
  type FoundWorkspacesOptions,
  makeFoundWorkspaces
} from "../../core/engine/FoundWorkspaces.ts"
import type { FoundAt } from "../../core/engine/Hosting.ts"
import type { HttpRequest } from "../../core/http/Http.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"

const workspace = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})
const acme = workspace("acme", "https://acme.example")
const root = workspace("root", "https://id.example")
const deep = workspace("deep", "https://id.example/t/deep")
const local = workspace("local", "http://localhost")

const nobody: FoundAt = { workspace: undefined, deepest: 0 }

const request = (host: string, path = "/"): HttpRequest => ({
  method: "GET",
  path,
  query: "",
  headers: { get: (name) => (name === "host" ? host : undefined) },
  body: ""
})

interface Given {
  readonly found: FoundWorkspaces
  readonly places: Map<string, FoundAt>
  /** What was looked for, in order. */
  readonly looked: Array<string>
  readonly ask: (host: string, path?: string) => Effect.Effect<Workspace | undefined, StorageUnavailable>
}

const staleness = 5000

const given = <A, E>(body: (given: Given) => Effect.Effect<A, E>, look?: FoundWorkspacesOptions["look"]) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const places = new Map<string, FoundAt>([
      ["acme.example", { workspace: acme, deepest: 0 }],
      ["id.example", { workspace: root, deepest: 2 }],
      ["id.example/t/deep", { workspace: deep, deepest: 0 }],
      ["localhost", { workspace: local, deepest: 0 }]
    ])
    const looked: Array<string> = []
    const found = makeFoundWorkspaces({
      clock: yield* Clock.Clock,
      staleness,
      look: (address, known) =>
        Effect.suspend(() => {
          looked.push(address)
          return look === undefined ? Effect.succeed(places.get(address) ?? nobody) : look(address, known)
        })
    })
    const ask: Given["ask"] = (host, path) => {
      const known = found.resolve(request(host, path))
      return known === undefined ? found.find(request(host, path)) : Effect.succeed(known)
    }
    return yield* body({ found, places, looked, ask })
  }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise)

describe("a workspace that is kept elsewhere", () => {
  test("is looked for once, and at hand from then on until it may be stale", () =>
    given(({ ask, found, looked }) =>
      Effect.gen(function* () {
        expect(found.resolve(request("acme.example"))).toBeUndefined()
        expect(yield* ask("acme.example")).toBe(acme)
        expect(found.resolve(request("acme.example"))).toBe(acme)
        expect(found.resolve(request("ACME.example:443"))).toBe(acme)
        yield* TestClock.adjust(staleness - 1)
        expect(yield* ask("acme.example")).toBe(acme)
        expect(looked).toEqual(["acme.example"])
        yield* TestClock.adjust(1)
        expect(found.resolve(request("acme.example"))).toBeUndefined()
        expect(yield* ask("acme.example")).toBe(acme)
        expect(looked).toEqual(["acme.example", "acme.example"])
      })
    ))

  test("is asked for at an address of the store's however many strangers ask, and is remembered by none of it", () =>
    given(({ ask, found, looked }) =>
      Effect.gen(function* () {
        for (let more = 0; more < 200; more++) yield* ask(`s${more}.example`)
        expect((yield* Effect.exit(ask("acme.example")))._tag).toBe("Failure")
        looked.length = 0
        for (const address of ["acme.example", "acme.example", "nobody.example"]) {
          expect(yield* found.askedAt(address)).toBe(address === "acme.example" ? acme : undefined)
        }
        expect(looked).toEqual(["acme.example", "acme.example", "nobody.example"])
        expect(found.known()).toEqual([])
      })
    ))

  test("is known as it is within that time: changed, added, gone", () =>
    given(({ ask, places }) =>
      Effect.gen(function* () {
        expect(yield* ask("new.example")).toBeUndefined()
        yield* ask("acme.example")
        const added = workspace("new", "https://new.example")
        const changed = { ...acme, disabled: true }
        places.set("new.example", { workspace: added, deepest: 0 })
        places.set("acme.example", { workspace: changed, deepest: 0 })
        yield* TestClock.adjust(staleness)
        expect([yield* ask("new.example"), yield* ask("acme.example")]).toEqual([added, changed])
        places.delete("new.example")
        yield* TestClock.adjust(staleness)
        expect(yield* ask("new.example")).toBeUndefined()
      })
    ))

  test("is found by path too, the longest first, with no look where the host has none so deep", () =>
    given(({ ask, found, looked }) =>
      Effect.gen(function* () {
        expect(yield* ask("id.example", "/t/deep/oauth/token")).toBe(deep)
        expect(looked).toEqual(["id.example", "id.example/t/deep"])
        expect(yield* ask("id.example", "/.well-known/oauth-authorization-server/t/deep")).toBe(deep)
        expect(looked).toHaveLength(2)
        expect(yield* ask("id.example", "/oauth/token")).toBe(root)
        expect(looked.slice(2)).toEqual(["id.example/oauth/token", "id.example/oauth"])
        expect(found.resolve(request("id.example", "/oauth/token"))).toBe(root)
        expect(yield* ask("acme.example", "/t/deep/oauth/token")).toBe(acme)
        expect(looked.slice(4)).toEqual(["acme.example"])
      })
    ))

  test("is not found at a host that no issuer has, and nothing is looked for", () =>
    given(({ ask, looked }) =>
      Effect.gen(function* () {
        yield* ask("id.example", "/t/deep")
        looked.length = 0
        const odd = [
          "",
          ".",
          "acme.example.",
          ".acme.example",
          "a b",
          "id.example/t/deep",
          "ä.example",
          "a".repeat(300)
        ]
        for (const host of odd) expect(yield* ask(host)).toBeUndefined()
        expect(looked).toEqual([])
      })
    ))

  test("has the port of its scheme, said or not", () =>
    given(({ ask }) =>
      Effect.gen(function* () {
        expect(yield* ask("localhost:80")).toBe(local)
        expect(yield* ask("localhost:443")).toBeUndefined()
        expect(yield* ask("acme.example:80")).toBeUndefined()
        expect(yield* ask("acme.example:443")).toBe(acme)
        // Only what is a port goes without saying.
        expect(yield* ask("localhost.eu")).toBeUndefined()
      })
    ))

  test("is looked for again where the clock was set back, and where it went it is looked for once", () =>
    given(({ ask, found, looked, places }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(staleness)
        expect(yield* ask("acme.example")).toBe(acme)
        yield* TestClock.adjust(-1)
        expect(found.atHand(request("acme.example"))).toBeUndefined()
        yield* TestClock.adjust(1)
        expect(found.atHand(request("acme.example"))).toMatchObject({ workspace: acme })
        yield* TestClock.adjust(staleness)
        places.delete("acme.example")
        looked.length = 0
        expect([yield* ask("acme.example"), yield* ask("acme.example")]).toEqual([undefined, undefined])
        expect(looked).toEqual(["acme.example"])
        expect(found.known()).toEqual([])
        expect(found.atHand(request("acme.example"))).toMatchObject({ workspace: undefined, deepest: 0 })
      })
    ))

  test("is not found where what looked answers for another address", () =>
    given(
      ({ ask, looked }) =>
        Effect.gen(function* () {
          expect(yield* ask("a.acme.example", "/t/deep")).toBeUndefined()
          expect(looked).toEqual(["a.acme.example"])
          expect(yield* ask("acme.example")).toBe(acme)
        }),
      () => Effect.succeed({ workspace: acme, deepest: 0 })
    ))

  test("is learned without a look", () =>
    given(({ ask, found, looked }) =>
      Effect.gen(function* () {
        found.learn([deep])
        // Its host is none by itself.
        expect(found.known()).toEqual([deep])
        found.learn([acme, root])
        expect(yield* ask("acme.example")).toBe(acme)
        expect(yield* ask("id.example", "/t/deep/x")).toBe(deep)
        expect(looked).toEqual([])
        expect(new Set(found.known())).toEqual(new Set([deep, acme, root]))
        yield* TestClock.adjust(staleness)
        yield* ask("acme.example")
        expect(looked).toEqual(["acme.example"])
      })
    ))
})

describe("a look", () => {
  test("is shared by all who ask at once, and outlives the first of them", () => {
    const gate = Deferred.makeUnsafe<FoundAt>()
    return given(
      ({ ask, looked }) =>
        Effect.gen(function* () {
          const fibers = yield* Effect.forEach([1, 2, 3], () =>
            Effect.forkChild(ask("acme.example"), { startImmediately: true })
          )
          const [first, ...others] = fibers
          if (first !== undefined) yield* Fiber.interrupt(first)
          yield* Deferred.succeed(gate, { workspace: acme, deepest: 0 })
          for (const fiber of others) expect(yield* Fiber.join(fiber)).toBe(acme)
          expect(looked).toEqual(["acme.example"])
          expect(yield* ask("acme.example")).toBe(acme)
        }),
      () => Deferred.await(gate)
    )
  })

  test("that takes too long is given up, and the next one begins anew", () => {
    let hangs = true
    return given(
      ({ ask }) =>
        Effect.gen(function* () {
          const asking = yield* Effect.forkChild(Effect.exit(ask("acme.example")), { startImmediately: true })
          yield* TestClock.adjust("10 seconds")
          const exit = yield* Fiber.join(asking)
          const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
          expect(reason).toMatchObject({ error: { _tag: "StorageUnavailable", outcome: "not_done" } })
          hangs = false
          expect(yield* ask("acme.example")).toBe(acme)
        }),
      () => (hangs ? Effect.never : Effect.succeed({ workspace: acme, deepest: 0 }))
    )
  })

  test("that fails is told of a stranger; what was found before goes on as it was", () => {
    let away = false
    const failure = new StorageUnavailable({ outcome: "not_done", message: "away" })
    return given(
      ({ ask }) =>
        Effect.gen(function* () {
          yield* ask("acme.example")
          away = true
          yield* TestClock.adjust(staleness)
          expect(yield* ask("acme.example")).toBe(acme)
          const stranger = yield* Effect.result(ask("other.example"))
          expect(Result.isFailure(stranger) && stranger.failure).toBe(failure)
        }),
      (address) => {
        if (away) return Effect.fail(failure)
        return Effect.succeed(address === "acme.example" ? { workspace: acme, deepest: 0 } : nobody)
      }
    )
  })

  test("that breaks is a defect, and no request waits for it for good", () =>
    given(
      ({ ask }) =>
        Effect.gen(function* () {
          for (let again = 0; again < 2; again++) {
            const exit = yield* Effect.exit(ask("acme.example"))
            expect(Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag)).toEqual(["Die"])
          }
        }),
      () => {
        throw new Error("no look")
      }
    ))
})

describe("strangers who make up hosts", () => {
  test("cost no look each: so many at once, and so many with time", () =>
    given(({ ask, looked }) =>
      Effect.gen(function* () {
        yield* ask("acme.example")
        looked.length = 0
        let refused = 0
        for (let number = 0; number < 10_000; number++) {
          if (Exit.isFailure(yield* Effect.exit(ask(`${number}.example`)))) refused++
        }
        // The first one was a stranger, too.
        expect(looked).toHaveLength(199)
        expect(refused).toBe(10_000 - looked.length)
        expect(yield* Effect.flip(ask("stranger.example"))).toMatchObject({ outcome: "not_done" })
        yield* TestClock.adjust("1 second")
        looked.length = 0
        for (let number = 0; number < 1000; number++) yield* Effect.exit(ask(`later-${number}.example`))
        expect(looked).toHaveLength(100)
      })
    ))

  test("keep no workspace from being found that was found before, nor from being looked for again", () =>
    given(({ ask }) =>
      Effect.gen(function* () {
        yield* ask("acme.example")
        for (let round = 0; round < 3; round++) {
          for (let number = 0; number < 500; number++) yield* Effect.exit(ask(`${round}-${number}.example`))
          yield* TestClock.adjust(staleness)
          for (let number = 0; number < 500; number++) yield* Effect.exit(ask(`${round}+${number}.example`))
          expect(yield* ask("acme.example")).toBe(acme)
        }
      })
    ))

  test("are strangers again once it is forgotten that they are empty; a host with others below it is none", () =>
    given(({ ask, looked, places }) =>
      Effect.gen(function* () {
        places.set("only.example", { workspace: undefined, deepest: 1 })
        for (const host of ["nobody.example", "only.example"]) yield* ask(host, "/")
        yield* TestClock.adjust(staleness)
        for (let number = 0; number < 300; number++) yield* Effect.exit(ask(`${number}.example`))
        looked.length = 0
        expect(yield* Effect.flip(ask("nobody.example"))).toMatchObject({ outcome: "not_done" })
        yield* Effect.exit(ask("only.example", "/"))
        expect(looked).toEqual(["only.example"])
      })
    ))

  test("keep the workspace of a host from no path of its own where nothing was found before", () =>
    given(({ ask, looked }) =>
      Effect.gen(function* () {
        expect(yield* ask("id.example", "/oauth/token")).toBe(root)
        for (let round = 0; round < 3; round++) {
          yield* TestClock.adjust(staleness)
          for (let number = 0; number < 500; number++) yield* Effect.exit(ask("id.example", `/${round}-${number}`))
          looked.length = 0
          expect(yield* ask("id.example", "/oauth/token")).toBe(root)
          expect(looked).toEqual([])
        }
        // What was never looked for waits until there is room, since it may be another's.
        expect(yield* Effect.flip(ask("id.example", "/t/new"))).toMatchObject({ outcome: "not_done" })
      })
    ))

  test("who ask for the same again are answered without a look", () =>
    given(({ ask, looked }) =>
      Effect.gen(function* () {
        for (let again = 0; again < 100; again++) expect(yield* ask("nobody.example")).toBeUndefined()
        expect(looked).toEqual(["nobody.example"])
      })
    ))

  test("are counted right by a clock that was set back", () =>
    given(({ ask, looked }) =>
      Effect.gen(function* () {
        for (let number = 0; number < 300; number++) yield* Effect.exit(ask(`${number}.example`))
        yield* TestClock.setTime(1_700_000_000_000)
        yield* TestClock.adjust("2 seconds")
        looked.length = 0
        yield* Effect.exit(ask("fresh.example"))
        yield* TestClock.adjust("2 seconds")
        yield* Effect.exit(ask("fresher.example"))
        expect(looked).toContain("fresher.example")
      })
    ))
})
