import { describe, expect, test } from "bun:test"
import { Duration, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { compactVerify, importJWK } from "jose"
import { moveWorkspace } from "../../core/engine/Openings.ts"
import type { SigningKeys } from "../../core/engine/signingKeys.ts"
import { keptForHints, signsFor } from "../../core/engine/signingKeys.ts"
import { SignatureFault, type Signatures } from "../../core/ports/Signatures.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { inWorld, keyFrom, realSignatures, theWorkspace, type World } from "../given/World.ts"

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
    inWorld(
      (world) =>
        Effect.gen(function* () {
          expect(yield* published(world)).toEqual([])
          const servers = yield* eight(world)
          const signed = yield* Effect.forEach(servers, (one) => sign(one), { concurrency: "unbounded" })
          expect((yield* published(world)).length).toBe(1)
          for (const jws of signed) expect(yield* verify(world, jws)).toBe(true)
        }),
      signing
    ))

  test("are rotated by one of eight processes, and none signs with what others do not publish yet", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
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
        }),
      signing
    ))

  test("sign a moment longer where another process withdrew one, and never after", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
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
        }),
      signing
    ))

  test("say how long the longest of what they signed lives", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          yield* sign(world)
          yield* sign(world, 5 * hour)
          yield* sign(world, 2 * hour)
          expect((yield* stored(world))?.keys.map(({ life }) => life)).toEqual([5 * hour])
        }),
      signing
    ))

  test("go over to a new seal key, and outlive the old one", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          yield* sign(world)
          world.turnRing((ring) => [keyFrom(2), ...ring])
          yield* keep(world)
          const [key] = (yield* stored(world))?.keys ?? []
          expect(key?.wrapped.by).toBe(keyFrom(2).id)
          world.turnRing(() => [keyFrom(2)])
          const elsewhere = yield* world.elsewhere
          expect(yield* verify(world, yield* sign(elsewhere))).toBe(true)
        }),
      signing
    ))

  test("sign nothing where their seal key is gone, which is said by its name", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
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
        }),
      signing
    ))

  test("are not those of another issuer, nor do their private parts unwrap there", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const moved = { ...theWorkspace, issuer: Issuer.make("https://elsewhere.example.com") }
          yield* sign(world)
          const [before] = (yield* stored(world))?.keys ?? []
          // Only whoever has the workspace takes the place of another's keys.
          expect(yield* Effect.flip(sign(world, hour, moved))).toMatchObject({ _tag: "StorageUnavailable" })
          expect(kidsOf(yield* stored(world))).toEqual([before?.kid ?? ""])
          const { entropy, storage } = world.services
          yield* moveWorkspace({ entropy, storage }, theWorkspace.id, moved.issuer)
          yield* sign(world, hour, moved)
          const after = yield* world.services.signing.stored(moved)
          expect(kidsOf(after)).not.toEqual([before?.kid ?? ""])
          expect(yield* stored(world)).toBeUndefined()
        }),
      signing
    ))

  test("are bound to their workspace, their issuer and themselves: a record that is copied signs nothing", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
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
        }),
      signing
    ))

  test("keep no private part in the clear", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          yield* sign(world)
          yield* rotate(world)
          const found = yield* world.storage.get({ workspace: "home", kind: "signing", id: "home" })
          expect(JSON.stringify(found)).not.toContain('"d"')
          for (const key of yield* published(world)) expect(Object.keys(key)).not.toContain("d")
        }),
      signing
    ))

  test("cost one look at the store for each few seconds of signing", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          yield* sign(world)
          world.calls.get.length = 0
          yield* Effect.forEach(Array.from({ length: 100 }), () => sign(world))
          expect(world.calls.get).toEqual([])
        }),
      signing
    ))

  test("of a server that has no adapter are none", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const refused = yield* Effect.result(sign(world))
        expect(Result.isFailure(refused) && refused.failure._tag).toBe("PortUnavailable")
        yield* keep(world)
        expect((yield* world.send("GET", "/oauth/jwks")).status).toBe(404)
      })
    ))

  test("that cannot be made fail whoever needs them, and nothing is written", () => {
    const signatures: Signatures["Service"] = { ...realSignatures, makeKey: () => Effect.fail(failed) }
    return inWorld(
      (world) =>
        Effect.gen(function* () {
          const refused = yield* Effect.result(sign(world))
          expect(Result.isFailure(refused)).toBe(true)
          expect(world.calls.insert).toEqual([])
        }),
      { signatures }
    )
  })
})
