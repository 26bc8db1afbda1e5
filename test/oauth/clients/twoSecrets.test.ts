import { describe, expect, test } from "bun:test"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { secretMark } from "../../../core/client/ClientSecret.ts"
import { dropSecret, makeSecret } from "../../../core/engine/administerClients.ts"
import { Limiter } from "../../../core/ports/Limiter.ts"
import { readClientId } from "../../../core/rules/Id.ts"
import { TooManyRequests } from "../../../core/rules/Refusal.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { byOwner } from "../../given/auditContext.ts"
import { form, formHeaders, jsonHeaders, jsonOf, postRegistration, registerClient } from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const day = 86_400_000
const methods = ["client_secret_basic", "client_secret_post"] as const

const ask = (world: World, id: string, secret: string, method: (typeof methods)[number]) =>
  post(world, "/oauth/token", id, secret, method, { grant_type: "client_credentials" })

const post = (
  world: World,
  path: string,
  id: string,
  secret: string,
  method: (typeof methods)[number],
  fields: Readonly<Record<string, string>>
) =>
  world.send("POST", path, {
    headers:
      method === "client_secret_basic"
        ? { ...formHeaders, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` }
        : formHeaders,
    body: form({
      ...fields,
      ...(method === "client_secret_basic" ? {} : { client_id: id, client_secret: secret })
    })
  })

const registered = Effect.fnUntraced(function* (world: World) {
  const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
  return { id: yield* Effect.fromOption(readClientId(client.id)), first: client.secret ?? "" }
})

const renewed = Effect.fnUntraced(function* (world: World, id: Parameters<typeof makeSecret>[2], keepFor: number) {
  const made = yield* makeSecret(world.services, byOwner(world), id, keepFor)
  return made === "unknown" ? "" : Redacted.value(made.text)
})

const told = (world: World, tag: "TokensIssued" | "TokenRevoked" = "TokensIssued") =>
  world.audit.flatMap(({ event }) => (event._tag === tag ? [Option.fromUndefinedOr(event.secret)] : []))

describe.each(methods)("two live secrets by %s", (method) => {
  test("both are good, the audit says which was shown, and one after the other ends", () =>
    inWorld(function* (world) {
      const { first, id } = yield* registered(world)
      const status = (secret: string) => Effect.map(ask(world, id, secret, method), (answer) => answer.status)
      expect(yield* status(first)).toBe(200)
      const second = yield* renewed(world, id, 7 * day)
      expect([yield* status(first), yield* status(second), yield* status(`${second}x`)]).toEqual([200, 200, 401])
      const [alone, older, newer] = told(world)
      expect(alone).toEqual(Option.none())
      expect([older, newer]).toEqual([first, second].map((secret) => Option.some(secretMark(digestOf(secret)))))
      expect(JSON.stringify(world.audit)).not.toContain(second)
      yield* TestClock.adjust(7 * day)
      expect([yield* status(first), yield* status(second)]).toEqual([401, 200])
    }))

  test("the audit says too which was shown to revoke, for a program that does nothing else", () =>
    inWorld(function* (world) {
      const { first, id } = yield* registered(world)
      const token = Effect.map(ask(world, id, first, method), (answer) => String(jsonOf(answer).access_token))
      const revoke = (secret: string) =>
        Effect.flatMap(token, (token) => post(world, "/oauth/revoke", id, secret, method, { token }))
      yield* revoke(first)
      const second = yield* renewed(world, id, day)
      for (const secret of [first, second]) yield* revoke(secret)
      const marks = [first, second].map((secret) => Option.some(secretMark(digestOf(secret))))
      expect(told(world, "TokenRevoked")).toEqual([Option.none(), ...marks])
    }))

  test("the audit says at whatever endpoint that the older one is in use, once a minute, whatever came of it", () =>
    inWorld(function* (world) {
      const { first, id } = yield* registered(world)
      const taking = world.services.endpoints.filter(({ methods: { POST } }) =>
        POST?.contract?.(world.services).callers.some(({ shows }) => shows === "clientSecret")
      )
      const paths = taking.map(({ path }) => path)
      expect(paths).toContain("/oauth/introspect")
      expect(paths.length).toBeGreaterThanOrEqual(5)
      const used = () => world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "OlderSecretUsed")
      const show = (path: string, secret: string) =>
        Effect.map(post(world, path, id, secret, method, { token: "x", grant_type: "none" }), ({ status }) => status)
      const showEverywhere = (secret: string) => Effect.forEach(paths, (path) => show(path, secret))
      yield* showEverywhere(first)
      const second = yield* renewed(world, id, day)
      yield* showEverywhere(second)
      expect(yield* showEverywhere(`${first}x`)).toEqual(paths.map(() => 401))
      expect(used()).toEqual([])
      for (const path of paths) {
        for (const seconds of [0, 59]) {
          yield* TestClock.adjust(`${seconds} seconds`)
          expect(yield* show(path, first)).not.toBe(401)
        }
        yield* show(path, second)
        yield* TestClock.adjust("1 second")
      }
      const event = { _tag: "OlderSecretUsed", client: id, secret: secretMark(digestOf(first)) } as const
      expect(used()).toEqual(paths.map((endpoint) => ({ ...event, endpoint })))
      // Each process tells it by itself.
      yield* show("/oauth/introspect", first)
      yield* ask(yield* world.elsewhere, id, first, method)
      expect(used()).toHaveLength(paths.length + 2)
      yield* TestClock.adjust(day)
      expect(yield* showEverywhere(first)).toEqual(paths.map(() => 401))
      expect(used()).toHaveLength(paths.length + 2)
    }))

  test("the audit says so of a client whose share is used up, too", () => {
    const limiter = Layer.succeed(Limiter, {
      take: ({ allowance: { name } }) =>
        name === "client" ? new TooManyRequests({ limit: name, retryAfterSeconds: 9 }) : Effect.void
    })
    return inWorld(
      function* (world) {
        const { first, id } = yield* registered(world)
        yield* renewed(world, id, day)
        expect((yield* ask(world, id, first, method)).status).toBe(429)
        expect(world.audit.map(({ event }) => event)).toContainEqual({
          _tag: "OlderSecretUsed",
          client: id,
          endpoint: "/oauth/token",
          secret: secretMark(digestOf(first))
        })
      },
      { limiter }
    )
  })

  test("the older one can be dropped before its time, and of two owners at once one makes a secret", () =>
    inWorld(function* (world) {
      const { first, id } = yield* registered(world)
      const elsewhere = yield* world.elsewhere
      const made = yield* Effect.forEach([world, elsewhere], (one) => Effect.result(renewed(one, id, day)), {
        concurrency: "unbounded"
      })
      expect(made.map(({ _tag }) => _tag).toSorted()).toEqual(["Failure", "Success"])
      expect(yield* dropSecret(world.services, byOwner(world), id)).toBe("done")
      expect(yield* dropSecret(world.services, byOwner(world), id)).toBe("was_so")
      expect((yield* ask(world, id, first, method)).status).toBe(401)
      const changes = world.audit.flatMap(({ event }) => (event._tag === "ClientChanged" ? [event.change] : []))
      expect(changes).toEqual(["secret_made", "secret_dropped"])
    }))
})

describe("an update by RFC 7592", () => {
  test("rotates nothing: both secrets go on, and either proves whose the body is", () =>
    inWorld(function* (world) {
      const response = yield* postRegistration(world, { redirect_uris: [], grant_types: ["client_credentials"] })
      const before = jsonOf(response)
      const id = yield* Effect.fromOption(readClientId(before.client_id))
      const first = String(before.client_secret)
      const second = yield* renewed(world, id, day)
      for (const secret of [first, second]) {
        const put = yield* world.send("PUT", `/oauth/register/${id}`, {
          headers: { ...jsonHeaders, authorization: `Bearer ${before.registration_access_token}` },
          body: JSON.stringify({ ...before, client_secret: secret, client_name: "Renamed" })
        })
        expect(put.status).toBe(200)
        expect(jsonOf(put)).not.toHaveProperty("client_secret")
        expect((yield* ask(world, id, secret, "client_secret_basic")).status).toBe(200)
      }
      const other = yield* world.send("PUT", `/oauth/register/${id}`, {
        headers: { ...jsonHeaders, authorization: `Bearer ${before.registration_access_token}` },
        body: JSON.stringify({ ...before, client_secret: `${first}x` })
      })
      expect(other.status).toBe(400)
    }))
})
