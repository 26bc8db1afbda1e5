import { describe, expect, test } from "bun:test"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { keySetLimits, makeFetchedKeys } from "../../core/engine/FetchedKeys.ts"
import type { ClientKeys, FetchedKeySource } from "../../core/ports/ClientKeys.ts"
import { type Document, DocumentFault, Documents } from "../../core/ports/Documents.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { hasPassed, instantOf, later } from "../../core/rules/Instant.ts"
import type { PublicKey } from "../../core/rules/Jwk.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const of = { workspace: WorkspaceId.make("main"), client: ClientId.make("c".repeat(22)) }
const jwksUri = "https://app.example/keys"
const fetched: FetchedKeySource = { _tag: "Fetched", jwksUri }

const key = (kid: string): PublicKey => ({ kty: "OKP", crv: "Ed25519", x: "A".repeat(43), kid })
const setOf = (...kids: ReadonlyArray<string>) => JSON.stringify({ keys: kids.map(key) })

type Said = string | DocumentFault["reason"] | Deferred.Deferred<string>

/** A host whose document changes, behind what keeps documents as the port says. */
class Host {
  says: Said = setOf("a")
  fetches = 0
  private kept: Document | undefined
  private flight: Fiber.Fiber<Document, DocumentFault> | undefined
  private readonly clock: Clock.Clock
  private readonly freshFor: number

  constructor(clock: Clock.Clock, freshFor: number) {
    this.clock = clock
    this.freshFor = freshFor
  }

  private readonly go = Effect.suspend(() => {
    this.fetches++
    const { says } = this
    const fetchedAt = instantOf(this.clock)
    const body = typeof says === "string" ? Effect.succeed(says) : Deferred.await(says)
    return Effect.flatMap(body, (body) => {
      const faults = [
        "unreachable",
        "timed_out",
        "status",
        "busy",
        "address_refused",
        "bad_address",
        "not_json"
      ] as const
      const reason = [...faults, "redirected" as const, "too_long" as const].find((fault) => fault === body)
      if (reason !== undefined) return Effect.fail(new DocumentFault({ reason }))
      this.kept = { body, fetchedAt, freshUntil: later(fetchedAt, this.freshFor) }
      return Effect.succeed(this.kept)
    })
  })

  readonly documents: Documents["Service"] = {
    ...Documents.none,
    fetch: (address, limits, asOf) =>
      Effect.suspend(() => {
        expect([address, limits]).toEqual([jwksUri, keySetLimits])
        const { kept } = this
        const now = instantOf(this.clock)
        const isKept = kept !== undefined && kept.fetchedAt <= now && !hasPassed(kept.freshUntil, now)
        if (isKept && (asOf ?? kept.fetchedAt) <= kept.fetchedAt) return Effect.succeed(kept)
        if (this.flight !== undefined) return Fiber.join(this.flight)
        return Effect.flatMap(Effect.forkDetach(this.go, { startImmediately: true }), (flight) => {
          this.flight = flight
          flight.addObserver(() => {
            this.flight = undefined
          })
          return Fiber.join(flight)
        })
      })
  }
}

const found = (keys: ClientKeys["Service"], kid?: string, source: FetchedKeySource = fetched) =>
  Effect.match(keys.find(of, source, kid), {
    onFailure: ({ reason }): string => reason,
    onSuccess: (keys) => keys.map(({ kid }) => kid).join(" ")
  })

const atHost = <A, E>(body: (host: Host, keys: ClientKeys["Service"]) => Effect.Effect<A, E>, freshFor = 3_600_000) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      yield* TestClock.setTime(1_000_000)
      const host = new Host(clock, freshFor)
      return yield* body(host, makeFetchedKeys(host.documents, clock))
    }).pipe(Effect.provide(TestClock.layer()))
  )

describe("a client's keys", () => {
  test("take 64 KiB and five seconds at most, and are kept from a minute to a day", () => {
    const [second, minute, day] = [1000, 60_000, 86_400_000]
    expect(keySetLimits).toEqual({ longest: 65_536, within: 5 * second, freshFor: { least: minute, most: day } })
  })

  test("are fetched once, and found by their kid or all", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        host.says = setOf("a", "b")
        expect([yield* found(keys, "a"), yield* found(keys, "b"), yield* found(keys)]).toEqual(["a", "b", "a b"])
        expect(host.fetches).toBe(1)
      })
    ))

  test("are fetched again at once for a kid that is not known, and then not for half a minute", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "a")).toBe("a")
        host.says = setOf("a", "b")
        yield* TestClock.adjust(1)
        expect(yield* found(keys, "b")).toBe("b")
        expect(host.fetches).toBe(2)
        yield* TestClock.adjust(29_999)
        for (let kid = 0; kid < 50; kid++) expect(yield* found(keys, `stranger ${kid}`)).toBe("")
        expect(host.fetches).toBe(2)
        expect(yield* found(keys, "a")).toBe("a")
        yield* TestClock.adjust(1)
        host.says = setOf("c")
        expect([yield* found(keys, "c"), yield* found(keys, "a")]).toEqual(["c", ""])
        expect(host.fetches).toBe(3)
      })
    ))

  test("are held off for no longer where the clock is set back meanwhile", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "a")).toBe("a")
        yield* TestClock.adjust(1)
        host.says = "unreachable"
        expect(yield* found(keys, "b")).toBe("unreachable")
        yield* TestClock.setTime(1000)
        host.says = setOf("a")
        expect(yield* found(keys, "b")).toBe("")
      })
    ))

  test("that were fetched a moment ago for a kid are not fetched for it a second time", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "stranger")).toBe("")
        expect(host.fetches).toBe(1)
      })
    ))

  test("come for all who wait for a new kid, and not only for the first", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "a")).toBe("a")
        yield* TestClock.adjust(1)
        const slow = Deferred.makeUnsafe<string>()
        host.says = slow
        const waiters = yield* Effect.all(
          Array.from({ length: 10 }, () => Effect.forkChild(found(keys, "b"), { startImmediately: true }))
        )
        yield* Deferred.succeed(slow, setOf("b"))
        expect(new Set(yield* Effect.forEach(waiters, Fiber.join))).toEqual(new Set(["b"]))
        expect(host.fetches).toBe(2)
      })
    ))

  test("that are known go on while their host is away, and an unknown kid is no fault of the client", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "a")).toBe("a")
        yield* TestClock.adjust(1)
        for (const says of ["unreachable", "status", "redirected", "not_json"] as const) {
          host.says = says
          const before = host.fetches
          expect([yield* found(keys, "b"), yield* found(keys, "b"), yield* found(keys, "a")]).toEqual([
            "unreachable",
            "unreachable",
            "a"
          ])
          expect(host.fetches).toBe(before + 1)
          yield* TestClock.adjust(30_000)
        }
      })
    ))

  test("are asked for again where no fetch began because all were busy", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        expect(yield* found(keys, "a")).toBe("a")
        yield* TestClock.adjust(1)
        host.says = "busy"
        expect(yield* found(keys, "b")).toBe("unreachable")
        host.says = setOf("b")
        expect(yield* found(keys, "b")).toBe("b")
      })
    ))

  test("go on while something else stands at their address, for as long as they are fresh", () =>
    atHost(
      (host, keys) =>
        Effect.gen(function* () {
          expect(yield* found(keys, "a")).toBe("a")
          yield* TestClock.adjust(1)
          host.says = `{"error":"maintenance"}`
          expect([yield* found(keys, "b"), yield* found(keys, "a"), yield* found(keys)]).toEqual(["", "a", "a"])
          yield* TestClock.adjust(19_999)
          expect([yield* found(keys, "a"), host.fetches]).toEqual(["malformed", 2])
          yield* TestClock.adjust(10_001)
          host.says = setOf("b")
          expect([yield* found(keys, "b"), host.fetches]).toEqual(["b", 3])
        }),
      20_000
    ))

  test("that cannot be had are told apart by whether that says something about the client", () =>
    atHost((host, keys) =>
      Effect.gen(function* () {
        const faults = {
          unreachable: "unreachable",
          timed_out: "unreachable",
          status: "unreachable",
          busy: "unreachable",
          // As for a name that does not exist: the caller learns nothing about the private network.
          address_refused: "unreachable",
          bad_address: "malformed",
          redirected: "malformed",
          not_json: "malformed",
          too_long: "malformed"
        }
        for (const [says, comes] of Object.entries(faults)) {
          host.says = says
          expect([says, yield* found(keys, "a")]).toEqual([says, comes])
        }
        for (const says of ["{", "5", "[]", `{"keys":{}}`, `{"keys":[{"kty":"OKP","d":"AA"}]}`]) {
          host.says = says
          expect([says, yield* found(keys, "a")]).toEqual([says, "malformed"])
          yield* TestClock.adjust("1 hour")
        }
      })
    ))

  test("are nowhere where there is no way out to the network", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const keys = makeFetchedKeys(Documents.none, yield* Clock.Clock)
        expect(yield* found(keys, "a")).toBe("no_adapter")
      })
    ))
})

test("an empty set has no key for a JWT that names none, and is asked for once", () =>
  atHost((host, keys) =>
    Effect.gen(function* () {
      host.says = setOf()
      expect([yield* found(keys), host.fetches]).toEqual(["", 1])
      expect([yield* found(keys, "a"), host.fetches]).toEqual(["", 1])
    })
  ))

test("for how many addresses it is known when they were asked again, is bounded by the size of what they had", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const length = 3000
      const asked: Array<number | undefined> = []
      const fetchedAt = instantOf(clock)
      const documents: Documents["Service"] = {
        ...Documents.none,
        fetch: (_address, _limits, asOf) =>
          Effect.sync(() => {
            asked.push(asOf)
            return { body: setOf("a").padEnd(length), fetchedAt, freshUntil: later(fetchedAt, 3_600_000) }
          })
      }
      const keys = makeFetchedKeys(documents, clock)
      const again = Effect.fnUntraced(function* (n: number) {
        expect(yield* found(keys, "stranger", { _tag: "Fetched", jwksUri: `https://app.example/${n}` })).toBe("")
        return asked.at(-1)
      })
      /** So many fit into half of the room, and are known at least. */
      const fitting = Math.floor((2 * 1024 * 1024) / (1024 + 2 * length))
      for (const time of [0, 1]) {
        for (let n = 0; n < fitting; n++) expect(yield* again(n)).toBe(0)
        yield* TestClock.adjust(1 - time)
      }
      for (let n = fitting; n <= 3 * fitting; n++) expect(yield* again(n)).toBe(1)
      yield* TestClock.adjust(1)
      expect([yield* again(3 * fitting), yield* again(0)]).toEqual([1, 2])
    }).pipe(Effect.provide(TestClock.layer()))
  ))
