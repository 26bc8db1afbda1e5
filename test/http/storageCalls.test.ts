import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { UserId } from "../../core/rules/Id.ts"
import type { Calls } from "../given/countingStorage.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  formHeaders,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

const nothing: Calls = { get: [], insert: [], replace: [], remove: [], list: [] }

/** What a step asks of the store. */
const callsOf = Effect.fnUntraced(function* <A, E>(world: World, step: Effect.Effect<A, E>) {
  for (const verb of Object.values(world.calls)) verb.length = 0
  const result = yield* step
  const calls = Object.fromEntries(Object.entries(world.calls).map(([verb, kinds]) => [verb, [...kinds]]))
  return { calls, result }
})

/** A client whose first flow is behind it, read within the last moment. */
const warmApp = Effect.fnUntraced(function* (world: World) {
  const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
  const tokens = yield* signInToApp(world, client)
  const machine = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
  yield* companies(world, tokens.access)
  return { client, tokens, machine: String(jsonOf(machine).access_token) }
})

describe("what a request costs the store, once the client is at hand", () => {
  test("client credentials: nothing while the client's own grant is at hand, and then one read", () =>
    inWorld(function* (world) {
      const { client } = yield* warmApp(world)
      const asked = tokenRequest(world, client, { grant_type: "client_credentials" })
      yield* asked
      expect((yield* callsOf(world, asked)).calls).toEqual(nothing)
      yield* TestClock.adjust(world.services.policy.clientStaleness)
      // With the first request of each while: whether the workspace has moved.
      expect((yield* callsOf(world, asked)).calls).toEqual({ ...nothing, get: ["workspace", "client", "grant"] })
    }))

  test("client credentials that are refused: nothing more", () =>
    inWorld(function* (world) {
      const { client } = yield* warmApp(world)
      yield* tokenRequest(world, client, { grant_type: "client_credentials" })
      const { calls, result } = yield* callsOf(
        world,
        tokenRequest(world, client, { grant_type: "client_credentials", scope: "unheard_of" })
      )
      expect([result.status, calls]).toEqual([400, nothing])
    }))

  test("client credentials: what was changed here is read again at once", () =>
    inWorld(function* (world) {
      const { client } = yield* warmApp(world)
      const asked = tokenRequest(world, client, { grant_type: "client_credentials" })
      yield* asked
      const token = String(jsonOf(yield* asked).access_token)
      const body = form({ client_id: client.id, client_secret: client.secret, token })
      yield* world.send("POST", "/oauth/revoke", { headers: formHeaders, body })
      expect((yield* callsOf(world, asked)).calls).toEqual({ ...nothing, get: ["grant"] })
      expect((yield* callsOf(world, asked)).calls).toEqual(nothing)
    }))

  test("code exchange: one write of the grant", () =>
    inWorld(function* (world) {
      const { client } = yield* warmApp(world)
      const code = yield* codeFor(world, client)
      const { calls, result } = yield* callsOf(world, redeem(world, client, code))
      expect(result.status).toBe(200)
      expect(calls).toEqual({ ...nothing, replace: ["grant"] })
    }))

  test("refresh: one write; a retry: one read", () =>
    inWorld(function* (world) {
      const { client, tokens } = yield* warmApp(world)
      const rotation = yield* callsOf(world, refresh(world, client, tokens.refresh))
      expect(tokensOf(rotation.result).refresh).not.toBe(tokens.refresh)
      expect(rotation.calls).toEqual({ ...nothing, replace: ["grant"] })
      const retry = yield* callsOf(world, refresh(world, client, tokens.refresh))
      expect(retry.calls).toEqual({ ...nothing, get: ["grant"] })
    }))

  test("bearer check, of a person's token and a machine's: the grant and the changes of clients; an API key: one read", () =>
    inWorld(function* (world) {
      const { tokens, machine } = yield* warmApp(world)
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      const ofClient = ["grant", "grant"]
      for (const [token, get] of [
        [tokens.access, ofClient],
        [machine, ofClient],
        [world.reveal(key.text), ["grant"]]
      ] as const) {
        const { calls, result } = yield* callsOf(world, companies(world, token))
        expect(result.status).toBe(200)
        expect(calls).toEqual({ ...nothing, get: [...get] })
      }
    }))

  test("a token whose grant is gone: the same, and no client is looked for", () =>
    inWorld(function* (world) {
      const { tokens } = yield* warmApp(world)
      const { grants } = world.services
      const slice = { after: undefined, limit: 1 }
      const { values } = yield* grants.ofUser(world.workspace.id, UserId.make("alice"), slice)
      for (const { id } of values) yield* grants.removeGrant(world.workspace.id, id)
      const { calls, result } = yield* callsOf(world, companies(world, tokens.access))
      expect([result.status, calls]).toEqual([401, { ...nothing, get: ["grant", "grant"] }])
    }))

  test("introspection of one's own token: the grant and the changes of clients", () =>
    inWorld(function* (world) {
      const { client, tokens } = yield* warmApp(world)
      const body = form({ client_id: client.id, client_secret: client.secret, token: tokens.access })
      const { calls, result } = yield* callsOf(
        world,
        world.send("POST", "/oauth/introspect", { headers: formHeaders, body })
      )
      expect(jsonOf(result).active).toBe(true)
      expect(calls).toEqual({ ...nothing, get: ["grant", "grant"] })
    }))

  test("a token that is forged, cut, of another kind or expired: nothing at all", () =>
    inWorld(function* (world) {
      const { tokens } = yield* warmApp(world)
      const forged = `${tokens.access.slice(0, 40)}${tokens.access[40] === "A" ? "B" : "A"}${tokens.access.slice(41)}`
      for (const token of [forged, tokens.access.slice(0, -3), tokens.refresh, "tsr_ak_short", "x"]) {
        const { calls, result } = yield* callsOf(
          world,
          world.send("GET", "/rest/companies", { headers: bearing(token) })
        )
        expect(result.status).toBe(401)
        expect(calls).toEqual(nothing)
      }
    }))

  test("metadata: nothing at all", () =>
    inWorld(function* (world) {
      const { calls } = yield* callsOf(world, world.send("GET", "/.well-known/oauth-authorization-server"))
      expect(calls).toEqual(nothing)
    }))
})
