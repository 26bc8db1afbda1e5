import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import {
  codeFor,
  companies,
  form,
  formHeaders,
  header,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest,
  tokensOf
} from "../../given/flow.ts"
import { inWorld, t0, type World } from "../../given/World.ts"

const minute = 60_000

const revoke = (world: World, client: TestClient, token: string | undefined, over = {}) =>
  world.send("POST", "/oauth/revoke", {
    headers: formHeaders,
    body: form({ client_id: client.id, client_secret: client.secret, token, ...over })
  })

describe("revocation (RFC 7009)", () => {
  test("answers an empty object, the same for whatever it was given", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const mine = yield* signInToApp(world, client)
      const theirs = yield* signInToApp(world, other)
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
      const code = yield* codeFor(world, client)
      const given = [mine.access, mine.access, mine.refresh, theirs.access, theirs.refresh, code, "x"]
      for (const token of [...given, world.reveal(key.text)]) {
        const response = yield* revoke(world, client, token, { token_type_hint: "nonsense" })
        expect([response.status, response.body]).toEqual([200, "{}"])
        expect(header(response, "content-type")).toBe("application/json")
        expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      }
      expect((yield* companies(world, theirs.access)).status).toBe(200)
      expect((yield* companies(world, world.reveal(key.text))).status).toBe(200)
      expect((yield* redeem(world, client, code)).status).toBe(200)
      const said = world.audit.filter(({ event }) => event._tag === "TokenRevoked")
      expect(said.map(({ event }) => event)).toMatchObject([{ client: client.id }, { client: client.id }])
      expect(said[0]).toMatchObject({ workspace: "home" })
    }))

  test("of an access token ends that one", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      yield* revoke(world, client, first.access)
      expect((yield* companies(world, first.access)).status).toBe(401)
      expect((yield* companies(world, second.access)).status).toBe(200)
      expect((yield* refresh(world, client, second.refresh)).status).toBe(200)
    }))

  test("of a refresh token ends its grant's access tokens when it cannot refresh any more, too", () =>
    inWorld(function* (world) {
      const { accessTtl, refreshIdleTtl, refreshMaxTtl } = world.services.policy
      const client = yield* registerClient(world)
      let tokens = yield* signInToApp(world, client)
      const turn = refreshIdleTtl - minute
      for (let at = turn; at < refreshMaxTtl - minute; at += turn) {
        yield* TestClock.adjust(turn)
        tokens = tokensOf(yield* refresh(world, client, tokens.refresh))
      }
      yield* TestClock.setTime(t0 + refreshMaxTtl - minute)
      tokens = tokensOf(yield* refresh(world, client, tokens.refresh))
      yield* TestClock.adjust(2 * minute)
      expect((yield* refresh(world, client, tokens.refresh)).status).toBe(400)
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      yield* revoke(world, client, tokens.refresh)
      expect((yield* companies(world, tokens.access)).status).toBe(401)
      yield* TestClock.adjust(accessTtl)
      expect((yield* revoke(world, client, tokens.refresh)).status).toBe(200)
    }))

  test("of an access token lasts where the clock was ahead for a moment", () =>
    inWorld(function* (world) {
      const { accessTtl } = world.services.policy
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client)
      yield* revoke(world, client, first.access)
      yield* TestClock.setTime(t0 + accessTtl + minute)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      yield* revoke(world, client, second.access)
      yield* TestClock.setTime(t0 + accessTtl - minute)
      expect((yield* companies(world, first.access)).status).toBe(401)
    }))

  test("of a refresh token, even a spent one, ends the grant with all its access tokens", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      const untouched = yield* signInToApp(world, client)
      yield* revoke(world, client, first.refresh)
      for (const access of [first.access, second.access]) expect((yield* companies(world, access)).status).toBe(401)
      expect((yield* refresh(world, client, second.refresh)).status).toBe(400)
      expect((yield* companies(world, untouched.access)).status).toBe(200)
    }))

  test("of an access token that has expired writes nothing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      yield* TestClock.adjust(world.services.policy.accessTtl)
      world.calls.replace.length = 0
      expect((yield* revoke(world, client, access)).status).toBe(200)
      expect(world.calls.replace).toEqual([])
    }))

  test("of a machine's token ends that one", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const ask = () =>
        Effect.map(tokenRequest(world, client, { grant_type: "client_credentials" }), (response) =>
          String(jsonOf(response).access_token)
        )
      const [one, two] = [yield* ask(), yield* ask()]
      yield* revoke(world, client, one)
      expect((yield* companies(world, one)).status).toBe(401)
      expect((yield* companies(world, two)).status).toBe(200)
    }))

  test("of a token whose grant is gone, or never was, is like any other that is not good any more", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const person = yield* signInToApp(world, client)
      const code = yield* codeFor(world, client)
      const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" })).access_token
      const { records } = yield* world.storage.list({
        workspace: "home",
        kind: "grant",
        owner: "user:alice",
        after: undefined,
        limit: 10
      })
      const stored = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
      const ids = [...records.map(({ id }) => id), ...stored.values.map(({ workspaceGrant }) => workspaceGrant)]
      expect(ids.length).toBe(3)
      // As a sweep would, or another process: this one may still remember them.
      for (const id of ids) yield* world.storage.remove({ workspace: "home", kind: "grant", id })
      world.audit.length = 0
      world.calls.insert.length = 0
      for (const round of ["remembered", "forgotten"]) {
        if (round === "forgotten") yield* TestClock.adjust("2 minutes")
        for (const token of [person.access, person.refresh, String(machine), code]) {
          const response = yield* revoke(world, client, token)
          expect([response.status, response.body]).toEqual([200, "{}"])
        }
      }
      expect(world.audit).toEqual([])
      // A swap of what is remembered may be tried; nothing comes of it.
      expect(world.calls.insert).toEqual([])
      for (const id of ids) {
        expect(Option.isNone(yield* world.storage.get({ workspace: "home", kind: "grant", id }))).toBe(true)
      }
      expect(world.log.filter((line) => line.includes("defect"))).toEqual([])
    }))

  test("takes authentication and a token", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      const wrong = yield* revoke(world, { ...client, secret: "x" }, access)
      expect([wrong.status, jsonOf(wrong).error]).toEqual([401, "invalid_client"])
      expect((yield* companies(world, access)).status).toBe(200)
      const missing = yield* revoke(world, client, undefined)
      expect([missing.status, jsonOf(missing).error_description]).toEqual([400, "The parameter token is missing."])
      const untyped = yield* world.send("POST", "/oauth/revoke", { body: "token=x" })
      expect([untyped.status, jsonOf(untyped).error]).toEqual([400, "invalid_request"])
    }))
})
