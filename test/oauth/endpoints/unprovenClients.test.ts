import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ClientId } from "../../../core/rules/Id.ts"
import { sweepAll } from "../../../runtimes/server/housekeeping.ts"
import {
  companies,
  header,
  jsonHeaders,
  jsonOf,
  postRegistration,
  redirectUri,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest
} from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const metadata = { grant_types: ["authorization_code", "client_credentials"] }

const actAlone = (world: World, client: TestClient) => tokenRequest(world, client, { grant_type: "client_credentials" })

const stored = (world: World, { id }: TestClient) =>
  world.services.clients.findStored(world.workspace.id, ClientId.make(id))

const records = Effect.fnUntraced(function* (world: World, client: TestClient, grant: string) {
  const { id: workspace } = world.workspace
  const kept = [
    yield* world.storage.get({ workspace, kind: "client", id: client.id }),
    yield* world.storage.get({ workspace, kind: "grant", id: grant })
  ]
  return kept.map(({ _tag }) => _tag)
})

describe("a client that no person let in", () => {
  test("has another 30 days by each token that it gets without a person, and goes when there is none", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, metadata)
      for (let month = 0; month < 3; month++) {
        expect((yield* actAlone(world, client)).status).toBe(200)
        expect((yield* stored(world, client))?.provenAt).toBeNull()
        yield* TestClock.adjust("29 days")
        yield* sweepAll(world.storage)
      }
      const own = String((yield* stored(world, client))?.workspaceGrant)
      expect(yield* records(world, client, own)).toEqual(["Some", "Some"])
      yield* TestClock.adjust("1 day")
      yield* sweepAll(world.storage)
      expect((yield* actAlone(world, client)).status).toBe(401)
      yield* TestClock.adjust("2 days")
      yield* sweepAll(world.storage)
      expect(yield* records(world, client, own)).toEqual(["None", "None"])
    }))

  test("is gone at the last moment of its time, also for a server that has it at hand", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, metadata)
      yield* TestClock.adjust(world.services.policy.unusedClientTtl - 1)
      // Read, and not used.
      expect((yield* actAlone(world, { ...client, secret: "another" })).status).toBe(401)
      expect(world.audit.at(-1)?.event).toMatchObject({ reason: "bad_secret" })
      yield* TestClock.adjust(1)
      expect((yield* actAlone(world, client)).status).toBe(401)
      expect(world.audit.at(-1)?.event).toMatchObject({ reason: "unknown" })
    }))

  test("writes that it was used once a day, and not with each token", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, metadata)
      yield* actAlone(world, client)
      world.calls.replace.length = 0
      for (let hour = 0; hour < 72; hour++) {
        yield* TestClock.adjust("1 hour")
        expect((yield* actAlone(world, client)).status).toBe(200)
      }
      expect(world.calls.replace.filter((kind) => kind === "client")).toHaveLength(3)
      expect(world.calls.replace.filter((kind) => kind === "grant")).toHaveLength(3)
    }))

  test("is kept for good once a person lets it in", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, metadata)
      yield* actAlone(world, client)
      yield* signInToApp(world, client)
      // Bun writes a matcher into what it is matched with, and that is what the store has.
      const { expiresAt, provenAt } = (yield* stored(world, client)) ?? {}
      expect([typeof provenAt, expiresAt]).toEqual(["number", null])
      yield* TestClock.adjust("400 days")
      yield* sweepAll(world.storage)
      const token = jsonOf(yield* actAlone(world, client)).access_token
      expect((yield* companies(world, String(token))).status).toBe(200)
    }))

  test("that an older release took for proven by its own tokens stays", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, metadata)
      const now = yield* Clock.currentTimeMillis
      yield* world.services.clients.change(world.workspace.id, ClientId.make(client.id), (kept) => ({
        ...kept,
        provenAt: kept.createdAt,
        expiresAt: null
      }))
      yield* TestClock.adjust("400 days")
      yield* sweepAll(world.storage)
      expect((yield* actAlone(world, client)).status).toBe(200)
      expect(yield* stored(world, client)).toMatchObject({ provenAt: now, expiresAt: null })
    }))
})

test("a client whose id holds its registration is on record with the request that brings its first tokens", () =>
  inWorld(
    function* (world) {
      const client = yield* registerClient(world, { redirect_uris: [], grant_types: ["client_credentials"] })
      const brought = () => world.audit.filter(({ event }) => event._tag === "ClientRegistered")
      const before = brought().length
      const answers = [yield* actAlone(world, client), yield* actAlone(world, client)]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(brought().slice(before)).toMatchObject([
        {
          workspace: world.workspace.id,
          requestId: header(answers[0] ?? expect.unreachable(), "x-request-id"),
          event: { identifier: client.id }
        }
      ])
    },
    { policy: { registrationRows: "at_consent" } }
  ))

test("a registration of more than 8 KiB is refused, the first and every later one (RFC 7591, RFC 7592)", () =>
  inWorld(function* (world) {
    const contacts = Array.from({ length: 5 }, () => "x".repeat(2000))
    const body = { redirect_uris: [redirectUri], contacts }
    // A store counts in bytes, and an umlaut has two.
    const ofBytes = { ...body, contacts: ["\u00e4".repeat(2000), "\u00e4".repeat(2000)] }
    for (const sent of [body, ofBytes]) {
      const answer = yield* postRegistration(world, sent)
      expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_client_metadata"])
    }
    expect(world.calls.insert).toEqual([])

    const client = yield* registerClient(world)
    const later = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
      headers: { ...jsonHeaders, authorization: `Bearer ${client.registrationToken}` },
      body: JSON.stringify({ ...body, client_id: client.id })
    })
    expect([later.status, jsonOf(later).error]).toEqual([400, "invalid_client_metadata"])
    expect(world.calls.replace).toEqual([])
  }))
