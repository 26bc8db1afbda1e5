import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { TestClock } from "effect/testing"
import { issuerOf, makeOpenings, moveWorkspace, neverMoves } from "../../core/engine/Openings.ts"
import { Issuer, type Workspace } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  bearing,
  codeFor,
  companies,
  decide,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  text
} from "../given/flow.ts"
import { aClient, inWorld, theWorkspace, type World } from "../given/World.ts"
import { withChecksum } from "../given/withChecksum.ts"

/** How long a process may go on with what it knows of a workspace. */
const staleness = 5000

const production = theWorkspace
const staging: Workspace = { ...production, issuer: Issuer.make("https://staging.example.com") }

/** A server whose issuer the test changes while it runs, and that takes the workspace along each time. */
const inTwoPlaces = (body: (world: World, go: (to: Workspace) => void) => Effect.Effect<void>) => {
  let here = production
  const go = (to: Workspace) => {
    here = to
  }
  return inWorld((world) => body(world, go), { resolve: () => here, mayMove: () => true })
}

describe("what one issuer sealed opens nothing under another, over the same store and ring", () => {
  test("codes, access tokens and refresh tokens", () =>
    inTwoPlaces((world, go) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const tokens = yield* signInToApp(world, client)
        const code = yield* codeFor(world, client)
        expect((yield* companies(world, tokens.access)).status).toBe(200)
        go(staging)
        expect((yield* companies(world, tokens.access)).status).toBe(401)
        expect(jsonOf(yield* refresh(world, client, tokens.refresh)).error).toBe("invalid_grant")
        expect(jsonOf(yield* redeem(world, client, code)).error).toBe("invalid_grant")
        go(production)
        expect((yield* companies(world, tokens.access)).status).toBe(200)
        expect((yield* redeem(world, client, code)).status).toBe(200)
      })
    ))

  test("consent pages", () =>
    inTwoPlaces((world, go) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        go(staging)
        expect((yield* decide(world, page, "approve")).status).toBe(403)
        go(production)
        expect((yield* decide(world, page, "approve")).status).toBe(303)
      })
    ))
})

/** The same token, as the release before sealed it. */
const sealedBefore = (world: World, token: string): string => {
  const bytes = Result.getOrThrow(Base64Url.decode(token.slice(7, -6)))
  const sealer = world.services.keys.current()
  const mac = sealer.before(sealer.first, { ...production, sealedBefore: true }, "token")
  mac?.seal(bytes)
  return withChecksum(token.slice(0, 7) + Base64Url.encode(bytes))
}

/** What a client reads first, and is answered without the store. */
const documents = ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"]

describe("over HTTP", () => {
  test("a server whose workspace is another's answers 503 where it needs the store, and says why in its log", () =>
    inWorld(
      function* (world) {
        const { entropy, storage } = world.services
        const audit = { record: () => Effect.void }
        yield* makeOpenings({ storage, entropy, audit, staleness }, neverMoves).open(staging)
        const registration = yield* world.send("POST", "/oauth/register", { body: "{}" })
        expect(registration.status).toBe(503)
        expect(registration.body).not.toContain(staging.issuer)
        expect(world.log.join("\n")).toContain(staging.issuer)
        const guarded = yield* world.guard("/orders", { scopes: [] }, { authorization: "Bearer x" })
        expect(guarded).toMatchObject({ _tag: "Refused", response: { status: 503 } })
        expect((yield* world.send("GET", "/.well-known/oauth-authorization-server")).status).toBe(200)
        yield* moveWorkspace({ storage, entropy }, production.id, production.issuer)
        yield* registerClient(world)
      },
      { unopened: true }
    ))

  test("a server that runs while its workspace moves stops to serve it: two issuers never share what it holds for long", () =>
    inWorld(function* (world) {
      const { entropy, storage } = world.services
      const client = yield* registerClient(world)
      const tokens = yield* signInToApp(world, client)
      const code = yield* codeFor(world, client)
      yield* moveWorkspace({ storage, entropy }, production.id, staging.issuer)
      yield* TestClock.adjust(staleness)
      const guarded = (token: string) => world.guard("/orders", { scopes: [] }, { authorization: `Bearer ${token}` })
      expect(yield* guarded(tokens.access)).toMatchObject({ _tag: "Refused", response: { status: 503 } })
      expect((yield* companies(world, tokens.access)).status).toBe(503)
      expect((yield* redeem(world, client, code)).status).toBe(503)
      expect((yield* refresh(world, client, tokens.refresh)).status).toBe(503)
      expect((yield* world.send("GET", authorizeTarget(client), { as: "alice" })).status).toBe(503)
      expect((yield* world.send("GET", "/readyz")).status).toBe(503)
      for (const document of documents) expect((yield* world.send("GET", document)).status).toBe(503)
      expect((yield* world.send("GET", "/healthz")).status).toBe(200)
      const said = world.log.filter((line) => line.includes("serves that workspace no more"))
      expect(said).toHaveLength(1)
      expect(said[0]).toContain(staging.issuer)
      expect(yield* issuerOf(storage, production.id)).toBe(staging.issuer)
      yield* moveWorkspace({ storage, entropy }, production.id, production.issuer)
      for (const document of documents) expect((yield* world.send("GET", document)).status).toBe(200)
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      expect((yield* refresh(world, client, tokens.refresh)).status).toBe(200)
    }))

  test("a store that is away does not say that the workspace moved: what needs nothing of it is answered", () =>
    inWorld(function* (world) {
      yield* registerClient(world)
      yield* TestClock.adjust(staleness)
      world.away.add("get workspace")
      expect((yield* world.send("GET", "/readyz")).status).toBe(200)
      for (const document of documents) expect((yield* world.send("GET", document)).status).toBe(200)
      yield* registerClient(world)
    }))

  test("the first request opens the workspace, and no later one asks the store for it", () =>
    inWorld(
      function* (world) {
        // Its documents tell what owners listed, and neither need the store nor open anything in it.
        for (const reads of [["workspace"], []]) {
          world.calls.get.length = 0
          expect((yield* world.send("GET", "/.well-known/oauth-protected-resource")).status).toBe(200)
          expect(Object.values(world.calls).flat()).toEqual(reads)
        }
        yield* registerClient(world)
        expect(world.calls.insert).toContain("workspace")
        for (const made of Object.values(world.calls)) made.length = 0
        yield* registerClient(world)
        expect(Object.values(world.calls).flat()).not.toContain("workspace")
      },
      { unopened: true }
    ))

  test("a token that the release before sealed opens where one may have, and nowhere else", () =>
    Promise.all(
      [true, false].map((lived) =>
        inWorld(
          function* (world) {
            if (lived) yield* aClient(world.storage)
            const client = yield* registerClient(world)
            const tokens = yield* signInToApp(world, client)
            const old = sealedBefore(world, tokens.access)
            expect(old).not.toBe(tokens.access)
            const guarded = yield* world.guard("/orders", { scopes: [] }, bearing(old))
            expect(guarded._tag).toBe(lived ? "Admitted" : "Refused")
            expect((yield* companies(world, old)).status).toBe(lived ? 200 : 401)
            const refreshed = yield* refresh(world, client, sealedBefore(world, tokens.refresh))
            expect(refreshed.status).toBe(lived ? 200 : 400)
            if (lived) expect((yield* companies(world, text(jsonOf(refreshed).access_token))).status).toBe(200)
          },
          { unopened: true }
        )
      )
    ))
})
