import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Away } from "../given/countingStorage.ts"
import {
  authorizeTarget,
  codeFor,
  companies,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  signInToApp,
  tokensOf
} from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

type Call = Away extends Set<infer One> ? One : never

/** Does something while the store does not answer this call, with nothing remembered of before. */
const without = Effect.fnUntraced(function* (world: World, call: Call, step: Effect.Effect<HttpResponse>) {
  yield* TestClock.adjust("6 seconds")
  world.away.add(call)
  const response = yield* step
  world.away.delete(call)
  return response
})

const saysAway = (response: HttpResponse) => {
  expect([response.status, header(response, "retry-after"), header(response, "www-authenticate")]).toEqual([
    503,
    "2",
    undefined
  ])
  expect([header(response, "cache-control"), header(response, "location")]).toEqual(["no-store", undefined])
  expect(response.body).not.toContain("the test said so")
}

describe("while the storage does not answer", () => {
  test("the token endpoint says so in JSON, and what was asked can be asked again", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      // The grant is as it was written here a moment ago, until the swap says otherwise.
      for (const call of ["get client", "replace grant"] as const) {
        const response = yield* without(world, call, redeem(world, client, code))
        saysAway(response)
        expect(jsonOf(response).error).toBe("temporarily_unavailable")
      }
      const redeemed = yield* redeem(world, client, code)
      expect(redeemed.status).toBe(200)
      const token = String(jsonOf(redeemed).refresh_token)
      saysAway(yield* without(world, "replace grant", refresh(world, client, token)))
      expect((yield* refresh(world, client, token)).status).toBe(200)
      saysAway(yield* without(world, "get grant", refresh(world, client, token)))
      expect((yield* refresh(world, client, token)).status).toBe(200)
    }))

  test("so do revocation and introspection, rather than answer for what they do not know", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      const body = form({ client_id: client.id, client_secret: client.secret, token: access })
      for (const [path, call] of [
        ["/oauth/introspect", "get grant"],
        ["/oauth/revoke", "replace grant"]
      ] as const) {
        const ask = world.send("POST", path, { headers: formHeaders, body })
        saysAway(yield* without(world, call, ask))
        saysAway(yield* without(world, "get client", ask))
      }
      expect((yield* companies(world, access)).status).toBe(200)
    }))

  test("a protected resource says so, and asks for no other token", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      saysAway(yield* without(world, "get grant", companies(world, access)))
      saysAway(yield* without(world, "get client", companies(world, access)))
    }))

  test("a person gets a page, at the request and at the answer to it, and may try again", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const ask = world.send("GET", authorizeTarget(client), { as: "alice" })
      const page = yield* ask
      const answers = [
        yield* without(world, "get client", ask),
        yield* without(world, "get client", decide(world, page, "approve")),
        yield* without(world, "insert grant", decide(world, page, "approve")),
        yield* without(world, "get grant", decide(world, page, "deny"))
      ]
      for (const response of answers) {
        saysAway(response)
        expect(header(response, "content-type")).toBe("text/html; charset=utf-8")
      }
      expect((yield* decide(world, page, "approve")).status).toBe(303)
    }))

  test("the server is alive and not ready, also where the store takes no writes", () =>
    inWorld(function* (world) {
      const ready = world.send("GET", "/readyz")
      for (const call of ["get usage", "insert usage"] as const) saysAway(yield* without(world, call, ready))
      yield* TestClock.adjust("1 second")
      expect((yield* ready).status).toBe(200)
      for (const call of ["get usage", "replace usage"] as const) {
        saysAway(yield* without(world, call, ready))
        expect((yield* without(world, call, world.send("GET", "/healthz"))).status).toBe(200)
      }
      yield* TestClock.adjust("1 second")
      expect((yield* ready).status).toBe(200)
    }))

  test("any number of questions whether it is ready cost a store in trouble one try in a second", () =>
    inWorld(function* (world) {
      const tries = () => [...world.calls.get, ...world.calls.insert].filter((kind) => kind === "usage").length
      const ready = world.send("GET", "/readyz")
      for (const call of ["get usage", "insert usage"] as const) {
        saysAway(yield* without(world, call, ready))
        const before = tries()
        for (let count = 0; count < 20; count++) saysAway(yield* ready)
        yield* TestClock.adjust(999)
        saysAway(yield* ready)
        expect(tries()).toBe(before)
        world.away.add(call)
        yield* TestClock.adjust(1)
        saysAway(yield* ready)
        saysAway(yield* ready)
        // A read, and the write where the read was answered.
        expect(tries()).toBe(before + (call === "get usage" ? 1 : 2))
        world.away.delete(call)
      }
      yield* TestClock.adjust(1000)
      expect((yield* ready).status).toBe(200)
    }))

  test("any number of questions whether it is ready cost one write in five seconds", () =>
    inWorld(function* (world) {
      const writes = () => [...world.calls.insert, ...world.calls.replace].filter((kind) => kind === "usage").length
      const ask = Effect.gen(function* () {
        const asked = Array.from({ length: 20 }, () => world.send("GET", "/readyz"))
        const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
        expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200))
      })
      yield* world.send("GET", "/readyz")
      yield* TestClock.adjust(4999)
      yield* ask
      expect(writes()).toBe(1)
      yield* TestClock.adjust(1)
      yield* world.send("GET", "/readyz")
      yield* ask
      expect(writes()).toBe(2)
    }))

  test("the operator reads what happened, and no audit event claims a refusal", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const response = yield* without(world, "get client", redeem(world, client, "x"))
      const said = world.log.filter((line) => line.includes("the storage did not answer"))
      expect(said).toHaveLength(1)
      expect(said[0]).toContain(header(response, "x-request-id") ?? "no id")
      expect(said[0]).toContain("not_done: the test said so")
      expect(world.audit.some(({ event }) => event._tag === "Refused")).toBe(false)
    }))
})

describe("a store that fails between a code and its tokens", () => {
  test("costs no client the code that it has already spent", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      world.away.add("replace client")
      const answer = yield* redeem(world, client, code)
      const tokens = tokensOf(answer)
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      expect(world.log.join()).toContain("proven")

      world.away.clear()
      yield* refresh(world, client, tokens.refresh)
      const kept = yield* world.storage.get({ workspace: world.workspace.id, kind: "client", id: client.id })
      expect(kept).toMatchObject({ value: { body: { provenAt: expect.any(Number) } } })
    }))
})
