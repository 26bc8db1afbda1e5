import { describe, expect, test } from "bun:test"
import { Duration, Effect, Fiber, Layer, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { compactVerify, importJWK } from "jose"
import * as Memory from "../../adapters/memory/Memory.ts"
import { moveWorkspace } from "../../core/engine/Openings.ts"
import type { SigningKeys } from "../../core/engine/signingKeys.ts"
import { keptForHints, signsFor } from "../../core/engine/signingKeys.ts"
import { SignatureFault, type Signatures, type Wrapping } from "../../core/ports/Signatures.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import type { Algorithm } from "../../core/rules/Jwk.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { inWorld, keyFrom, realSignatures, t0, theWorkspace, type World } from "../given/World.ts"

const signing = { signatures: realSignatures }
const failed = new SignatureFault({ reason: "failed" })
const hour = 60 * 60 * 1000

const sign = (world: World, life = hour, workspace = theWorkspace) =>
  Effect.gen(function* () {
    const now = yield* currentInstant
    const ready = yield* world.services.signing.ready(workspace, { algorithm: "ES256", life }, now)
    return yield* ready({ typ: "test" }, { iss: workspace.issuer })
  })

const stored = (world: World) => world.services.signing.stored(theWorkspace)
const kidsOf = (keys: SigningKeys | undefined) => keys?.keys.map(({ kid }) => kid) ?? []

interface Published {
  readonly keys: ReadonlyArray<Record<string, string>>
}

const published = (world: World) =>
  Effect.map(world.send("GET", "/oauth/jwks"), ({ body }) => (JSON.parse(body) as Published).keys)

const verify = (world: World, jws: string) =>
  Effect.flatMap(published(world), (keys) =>
    Effect.promise(async () => {
      const header = JSON.parse(atob(jws.split(".")[0] ?? "")) as { kid: string }
      const key = keys.find(({ kid }) => kid === header.kid)
      if (key === undefined) return false
      await compactVerify(jws, await importJWK(key, key.alg))
      return true
    })
  )

const rotate = (world: World) =>
  Effect.flatMap(currentInstant, (now) => world.services.signing.rotate(theWorkspace, now))
const keep = (world: World) => Effect.flatMap(currentInstant, (now) => world.services.signing.keep(theWorkspace, now))

const eight = (world: World) => Effect.all(Array.from({ length: 8 }, () => world.elsewhere))

describe("signing keys", () => {
  test("are made at first need, one for all processes, and verify what each of them signs", () =>
    inWorld(function* (world) {
      expect(yield* world.services.signing.stored(theWorkspace)).toBeUndefined()
      const servers = yield* eight(world)
      const signed = yield* Effect.forEach(servers, (one) => sign(one), { concurrency: "unbounded" })
      expect((yield* published(world)).length).toBe(1)
      for (const jws of signed) expect(yield* verify(world, jws)).toBe(true)
    }, signing))

  test("are made by whoever reads them before anything is signed, one set for all processes", () =>
    inWorld(function* (world) {
      const servers = yield* eight(world)
      const sets = yield* Effect.forEach([...servers, ...servers], published, { concurrency: "unbounded" })
      expect(sets.map((keys) => keys.map(({ alg, kid }) => [alg, kid]))).toEqual(
        sets.map(() => (sets[0] ?? []).map(({ alg, kid }) => [alg, kid]))
      )
      expect(sets[0]?.length).toBe(1)
      const signed = yield* Effect.forEach(servers, (one) => sign(one), { concurrency: "unbounded" })
      for (const jws of signed) expect(yield* verify(world, jws)).toBe(true)
      expect(yield* published(world)).toEqual([...(sets[0] ?? [])])
    }, signing))

  test("are drawn once by a process, however many requests need the first, and no more of them are with a longer life", () => {
    let drawn = 0
    const signatures: Signatures["Service"] = {
      ...realSignatures,
      makeKey: (...given) => {
        drawn += 1
        return Effect.andThen(Effect.sleep("1 second"), realSignatures.makeKey(...given))
      }
    }
    return inWorld(
      function* (world) {
        const lives = Array.from({ length: 20 }, (_, at) => hour + at)
        const signing = yield* Effect.forkChild(
          Effect.forEach(
            lives,
            // They come one after the other, before the first key is there.
            (life, at) => Effect.andThen(Effect.sleep(at), sign(world, life)),
            { concurrency: "unbounded" }
          ),
          { startImmediately: true }
        )
        yield* Effect.forkChild(Effect.forever(TestClock.adjust("1 second")), { startImmediately: true })
        const signed = yield* Fiber.join(signing)
        expect(drawn).toBe(1)
        expect((yield* published(world)).length).toBe(1)
        for (const jws of signed) expect(yield* verify(world, jws)).toBe(true)
      },
      { signatures }
    )
  })

  test("are rotated by one of eight processes, and none signs with what others do not publish yet", () =>
    inWorld(function* (world) {
      const before = yield* sign(world)
      yield* TestClock.adjust(Duration.millis(signsFor))
      const servers = yield* eight(world)
      yield* Effect.forEach(servers, (one) => sign(one))
      yield* Effect.forEach(servers, keep, { concurrency: "unbounded" })
      expect(kidsOf(yield* stored(world)).length).toBe(2)
      for (const wait of ["1 second", "5 minutes", "10 minutes", "1 hour", "1 day"] as const) {
        yield* TestClock.adjust(wait)
        for (const one of servers) expect(yield* verify(world, yield* sign(one))).toBe(true)
      }
      expect(yield* verify(world, before)).toBe(false)
      yield* TestClock.adjust(Duration.millis(keptForHints))
      yield* Effect.forEach(servers, keep, { concurrency: "unbounded" })
      expect(kidsOf(yield* stored(world)).length).toBe(1)
    }, signing))

  test("sign a moment longer where another process withdrew one, and never after", () =>
    inWorld(function* (world) {
      const { signing } = world.services
      yield* sign(world)
      const [kid = ""] = kidsOf(yield* stored(world))
      const elsewhere = yield* world.elsewhere
      const now = yield* currentInstant
      expect(yield* elsewhere.services.signing.retire(theWorkspace, kid, "expired", now)).toBe("signs")
      expect(yield* elsewhere.services.signing.retire(theWorkspace, kid, "compromised", now)).toBe("retired")
      expect(yield* verify(world, yield* sign(world))).toBe(false)
      yield* TestClock.adjust("5 seconds")
      expect(yield* verify(world, yield* sign(world))).toBe(true)
      expect(yield* signing.verifying(theWorkspace, kid, yield* currentInstant)).toHaveLength(1)
    }, signing))

  test("say how long the longest of what they signed lives", () =>
    inWorld(function* (world) {
      yield* sign(world)
      yield* sign(world, 5 * hour)
      yield* sign(world, 2 * hour)
      expect((yield* stored(world))?.keys.map(({ life }) => life)).toEqual([5 * hour])
    }, signing))

  test("go over to a new seal key, and outlive the old one", () =>
    inWorld(function* (world) {
      yield* sign(world)
      world.turnRing((ring) => [keyFrom(2), ...ring])
      yield* keep(world)
      const [key] = (yield* stored(world))?.keys ?? []
      expect(key?.wrapped.by).toBe(keyFrom(2).id)
      world.turnRing(() => [keyFrom(2)])
      const elsewhere = yield* world.elsewhere
      expect(yield* verify(world, yield* sign(elsewhere))).toBe(true)
    }, signing))

  test("sign nothing where their seal key is gone, which is said by its name", () =>
    inWorld(function* (world) {
      yield* sign(world)
      const lost = keyFrom(1).id
      world.turnRing(() => [keyFrom(2)])
      const elsewhere = yield* world.elsewhere
      const refused = yield* Effect.result(sign(elsewhere))
      expect(Result.isFailure(refused) && refused.failure._tag).toBe("PortUnavailable")
      expect(Result.isFailure(refused) && "reason" in refused.failure && refused.failure.reason).toContain(lost)
      yield* keep(elsewhere)
      expect(world.log.join("\n")).toContain(lost)
      const [kid = ""] = kidsOf(yield* stored(world))
      yield* elsewhere.services.signing.retire(theWorkspace, kid, "compromised", yield* currentInstant)
      expect(yield* verify(world, yield* sign(elsewhere))).toBe(true)
    }, signing))

  test("are not those of another issuer, nor do their private parts unwrap there", () =>
    inWorld(function* (world) {
      const moved = { ...theWorkspace, issuer: Issuer.make("https://elsewhere.example.com") }
      yield* sign(world)
      const [before] = (yield* stored(world))?.keys ?? []
      // Only a process that has moved the workspace takes the place of another's keys.
      expect(yield* Effect.flip(sign(world, hour, moved))).toMatchObject({ _tag: "StorageUnavailable" })
      expect(kidsOf(yield* stored(world))).toEqual([before?.kid ?? ""])
      const { entropy, storage } = world.services
      yield* moveWorkspace({ entropy, storage }, theWorkspace.id, moved.issuer)
      yield* sign(world, hour, moved)
      const after = yield* world.services.signing.stored(moved)
      expect(kidsOf(after)).not.toEqual([before?.kid ?? ""])
      expect(yield* stored(world)).toBeUndefined()
    }, signing))

  test("are bound to their workspace, their issuer and themselves: a record that is copied signs nothing", () =>
    inWorld(function* (world) {
      yield* sign(world)
      const key = { workspace: "home", kind: "signing", id: "home" } as const
      const found = yield* Effect.flatMap(world.storage.get(key), Effect.fromOption)
      const keys = (yield* stored(world))?.keys ?? []
      const tampered = keys.map((one) => ({ ...one, kid: "another" }))
      const { _v, _by } = found.body as Record<string, string>
      const body = { id: "home", issuer: theWorkspace.issuer, keys: tampered, _v, _by } as never
      yield* world.storage.replace(found.version, { ...found, body })
      const refused = yield* Effect.result(sign(yield* world.elsewhere))
      expect(Result.isFailure(refused) && "reason" in refused.failure && refused.failure.reason).toBe("wrapped")
    }, signing))

  test("keep no private part in the clear", () =>
    inWorld(function* (world) {
      yield* sign(world)
      yield* rotate(world)
      const found = yield* world.storage.get({ workspace: "home", kind: "signing", id: "home" })
      expect(JSON.stringify(found)).not.toContain('"d"')
      for (const key of yield* published(world)) expect(Object.keys(key)).not.toContain("d")
    }, signing))

  test("cost one look at the store for each few seconds of signing", () =>
    inWorld(function* (world) {
      yield* sign(world)
      world.calls.get.length = 0
      yield* Effect.forEach(Array.from({ length: 100 }), () => sign(world))
      expect(world.calls.get).toEqual([])
    }, signing))

  test("of a server that has no adapter are none", () =>
    inWorld(function* (world) {
      const refused = yield* Effect.result(sign(world))
      expect(Result.isFailure(refused) && refused.failure._tag).toBe("PortUnavailable")
      yield* keep(world)
      expect((yield* world.send("GET", "/oauth/jwks")).status).toBe(404)
    }))

  test("that cannot be made fail the request that needs them, and nothing is written", () => {
    const signatures: Signatures["Service"] = { ...realSignatures, makeKey: () => Effect.fail(failed) }
    return inWorld(
      function* (world) {
        const refused = yield* Effect.result(sign(world))
        expect(Result.isFailure(refused)).toBe(true)
        expect(world.calls.insert).toEqual([])
      },
      { signatures }
    )
  })
})

/** The adapter, and how often it was asked for what. */
const counted = () => {
  const asked: Array<"makeKey" | "signer" | "rewrap"> = []
  const wrappings: Array<Wrapping> = []
  const note = <A>(what: (typeof asked)[number], call: A): A => {
    asked.push(what)
    return call
  }
  const signatures: Signatures["Service"] = {
    ...realSignatures,
    makeKey: (algorithm, wrappingOf) =>
      note(
        "makeKey",
        realSignatures.makeKey(algorithm, (publicKey) => {
          const wrapping = wrappingOf(publicKey)
          wrappings.push(wrapping)
          return wrapping
        })
      ),
    signer: (wrapped, algorithm) => note("signer", realSignatures.signer(wrapped, algorithm)),
    rewrap: (wrapped, wrapping) => note("rewrap", realSignatures.rewrap(wrapped, wrapping))
  }
  return { asked, signatures, wrappings }
}

describe("what signing costs", () => {
  /** What a step asks of the adapter and of the store. */
  const costOf = Effect.fnUntraced(function* <A, E>(
    world: World,
    asked: Array<string>,
    step: Effect.Effect<A, E>
  ): Effect.fn.Return<ReadonlyArray<string>, E> {
    const { get, insert, replace } = world.calls
    for (const all of [asked, get, insert, replace]) all.length = 0
    yield* step
    return [...asked, ...get.map(() => "get"), ...insert.map(() => "insert"), ...replace.map(() => "replace")]
  })

  test("is a key once, a look where what is known is too old, and nothing in between", () => {
    const { asked, signatures } = counted()
    return inWorld(
      function* (world) {
        const cost = <A, E>(step: Effect.Effect<A, E>) => costOf(world, asked, step)
        const { signing } = world.services
        expect(yield* cost(keep(world))).toEqual(["get"])
        expect(yield* cost(rotate(world))).toEqual(["get"])
        expect(yield* rotate(world)).toBeUndefined()
        expect(yield* signing.verifying(theWorkspace, "any", Instant.make(t0))).toEqual([])
        expect(yield* signing.retire(theWorkspace, "any", "compromised", Instant.make(t0))).toBe("unknown")
        expect((yield* cost(sign(world))).filter((what) => what !== "get")).toEqual(["makeKey", "signer", "insert"])
        expect(yield* cost(sign(world))).toEqual([])
        const other = yield* world.elsewhere
        expect(yield* cost(sign(other))).toEqual(["signer", "get"])
        expect(yield* cost(sign(other))).toEqual([])
        yield* TestClock.adjust("5 seconds")
        expect(yield* cost(sign(other))).toEqual(["signer", "get"])
        // For longer than before: the record learns of it.
        expect(yield* cost(sign(other, 2 * hour))).toEqual(["signer", "get", "get", "replace"])
        expect(yield* cost(sign(other, 2 * hour))).toEqual([])
        const [one = ""] = kidsOf(yield* stored(world))
        const retire = (kid: string, how: "expired" | "compromised") =>
          signing.retire(theWorkspace, kid, how, Instant.make(t0))
        expect(yield* cost(retire(one, "expired"))).toEqual(["get"])
        expect(yield* cost(retire("another", "compromised"))).toEqual(["get", "get"])
        expect(yield* cost(keep(world))).toEqual(["get"])
        expect(yield* cost(rotate(world))).toEqual(["makeKey", "get", "get", "replace"])
        expect(yield* cost(rotate(world))).toEqual(["get"])
      },
      { signatures }
    )
  })

  test("keys by which others verify are at hand, and asked for where one is not among them", () => {
    const { asked, signatures } = counted()
    return inWorld(
      function* (world) {
        yield* sign(world)
        yield* rotate(world)
        const [one, two] = (yield* stored(world))?.keys ?? []
        const told = [one, two].map((key) => ({ ...key?.publicKey, kid: key?.kid, alg: "ES256" }))
        const verifying = Effect.suspend(() => world.services.signing.verifying(theWorkspace, kid, Instant.make(t0)))
        let kid = "another"
        for (const [next, looks] of [
          ["another", 1],
          [one?.kid, 0],
          [two?.kid, 0],
          ["another", 1]
        ] as const) {
          kid = next ?? ""
          expect(yield* costOf(world, asked, verifying)).toHaveLength(looks)
          expect<unknown>([kid, yield* verifying]).toEqual([kid, told])
        }
      },
      { signatures }
    )
  })

  test("nothing, of a server that signs nothing any more", () => {
    const { asked, signatures } = counted()
    const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Memory.layer))))
    return inWorld((world) => sign(world), { signatures, store }).then(() =>
      inWorld((world) => Effect.map(costOf(world, asked, keep(world)), (cost) => expect(cost).toEqual([])), { store })
    )
  })
})

describe("the private part of a key", () => {
  test("is wrapped alike in every release", () => {
    const { signatures, wrappings } = counted()
    return inWorld(
      function* (world) {
        yield* sign(world)
        const [kid] = kidsOf(yield* stored(world))
        expect(
          wrappings.map(({ boundTo, key }) => [boundTo, Buffer.from(Redacted.value(key)).toString("hex")])
        ).toEqual([
          [`home https://auth.example.com ${kid}`, "a907125ae2c9e3b7641a784abee13cbbb131727ab14afa872344c6ef29fd280b"]
        ])
      },
      { signatures }
    )
  })

  test("goes over to the first seal key where the ring has its own, beside one that cannot, which is said", () =>
    inWorld(function* (world) {
      const signBy = (algorithm: Algorithm) =>
        Effect.flatMap(currentInstant, (now) =>
          world.services.signing.ready(theWorkspace, { algorithm, life: hour }, now)
        )
      yield* signBy("ES256")
      world.turnRing(() => [keyFrom(2), keyFrom(1)])
      yield* signBy("RS256")
      world.turnRing(() => [keyFrom(3), keyFrom(2)])
      yield* keep(world)
      const keys = (yield* stored(world))?.keys ?? []
      expect(keys.map(({ wrapped }) => wrapped.by)).toEqual([keyFrom(1).id, keyFrom(3).id])
      expect(world.log.join("\n")).toContain(JSON.stringify({ workspace: "home", kid: keys[0]?.kid }))
    }, signing))

  test("is made before the workspace was ever opened, too", () =>
    inWorld((world) => Effect.map(sign(world), (jws) => expect(jws.split(".")).toHaveLength(3)), {
      ...signing,
      unopened: true
    }))
})
