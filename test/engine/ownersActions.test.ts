import { describe, expect, test } from "bun:test"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import {
  answerWorkspaceAccess,
  deleteClient,
  dropSecret,
  makeSecret,
  registerClient as registerClientFor,
  setAccessTokenFormat,
  setClientEnabled,
  setSecurityProfile,
  setServedResource
} from "../../core/engine/administerClients.ts"
import { createKey, endGrant, revokeKey, rotateKey } from "../../core/engine/administerGrants.ts"
import { makeClients } from "../../core/engine/Clients.ts"
import { Conflict, Storage } from "../../core/ports/Storage.ts"
import { ClientId, readClientId, UserId } from "../../core/rules/Id.ts"
import { later } from "../../core/rules/Instant.ts"
import { byOwner, passing } from "../given/auditContext.ts"
import {
  bearing,
  companies,
  jsonHeaders,
  jsonOf,
  redirectUri,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  text,
  tokenRequest
} from "../given/flow.ts"
import { inWorld, theWorkspace, type World } from "../given/World.ts"
import { scopes } from "../grant/given.ts"

const told = (world: World) =>
  world.audit
    .map(({ event }) => event)
    .filter(
      ({ _tag }) =>
        _tag === "GrantRevoked" || _tag.startsWith("Key") || _tag === "ClientChanged" || _tag === "ClientDeleted"
    )

const clientOf = (world: World) =>
  Effect.flatMap(registerClient(world), ({ id }) => Effect.fromOption(readClientId(id)))

const serving = { grant_types: ["authorization_code", "refresh_token", "client_credentials"] }

const terms = { name: "Export", lasts: undefined }

describe("what was done once is noted once", () => {
  test("a key's end, by two at a time or by one who comes late", () =>
    inWorld(function* (world) {
      const { grant } = yield* createKey(world.services, byOwner(world), terms)
      const end = revokeKey(world.services, byOwner(world), grant.id)
      const outcomes = yield* Effect.all([end, end], { concurrency: 2 })
      expect([...outcomes, yield* end].toSorted()).toEqual(["revoked", "was_revoked", "was_revoked"])
      expect(told(world)).toEqual([
        { _tag: "KeyCreated", grant: grant.id.slice(0, 8), by: "command line" },
        { _tag: "KeyRevoked", grant: grant.id.slice(0, 8), by: "command line" }
      ])
    }))

  test("a client's being switched off, and on", () =>
    inWorld(function* (world) {
      const id = yield* clientOf(world)
      const outcomes = yield* Effect.forEach(["enabled", "disabled", "disabled", "enabled"] as const, (change) =>
        setClientEnabled(world.services, byOwner(world), id, change)
      )
      expect(outcomes).toEqual(["was_so", "done", "was_so", "done"])
      expect(world.calls.replace).toEqual(["client", "grant", "client", "grant"])
      expect(told(world)).toEqual([
        { _tag: "ClientChanged", client: id, change: "disabled", by: "command line" },
        { _tag: "ClientChanged", client: id, change: "enabled", by: "command line" }
      ])
    }))

  test("a client's end, by one process and then by another that knew it before", () =>
    inWorld(function* (world) {
      const id = yield* clientOf(world)
      const { entropy, policy } = world.services
      const elsewhere = makeClients(world.storage, entropy, policy, yield* Clock.Clock)
      yield* elsewhere.find(world.workspace.id, id)
      expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("deleted")
      expect(yield* deleteClient({ ...world.services, clients: elsewhere }, byOwner(world), id)).toBe("unknown")
      expect(told(world)).toEqual([{ _tag: "ClientDeleted", client: id, by: "command line" }])
    }))

  test("a grant's end", () =>
    inWorld(function* (world) {
      yield* signInToApp(world, yield* registerClient(world))
      const page = { after: undefined, limit: 1 }
      const { values } = yield* world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), page)
      const { id } = yield* Effect.fromNullishOr(values[0])
      const end = endGrant(world.services, byOwner(world), id)
      expect([yield* end, yield* end]).toEqual(["revoked", "was_revoked"])
      expect(told(world)).toEqual([{ _tag: "GrantRevoked", grant: id.slice(0, 8), why: "by_user", by: "command line" }])
      // A grant is no key: its id revokes none.
      expect(yield* revokeKey(world.services, byOwner(world), id)).toBe("unknown")
    }))
})

describe("what an owner, or a client itself, does to a client is so at once in every process", () => {
  const put = (world: World, client: TestClient, metadata: Readonly<Record<string, unknown>>) =>
    world.send("PUT", new URL(client.registrationUri).pathname, {
      headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
      body: JSON.stringify({ client_id: client.id, redirect_uris: [redirectUri], ...metadata })
    })
  const acts: Readonly<Record<string, (world: World, client: TestClient) => Effect.Effect<unknown, unknown>>> = {
    "deleted by an owner": (world, { id }) => deleteClient(world.services, byOwner(world), ClientId.make(id)),
    "deleted by itself": (world, client) =>
      world.send("DELETE", new URL(client.registrationUri).pathname, { headers: bearing(client.registrationToken) }),
    disabled: (world, { id }) => setClientEnabled(world.services, byOwner(world), ClientId.make(id), "disabled")
  }
  for (const [name, act] of Object.entries(acts)) {
    test(`one that was ${name}`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, serving)
        const other = yield* registerClient(world, serving)
        const tokens = yield* signInToApp(world, client)
        const tokensOfOther = yield* signInToApp(world, other)
        const there = yield* world.elsewhere
        const asksAlone = tokenRequest(there, client, { grant_type: "client_credentials" })
        yield* asksAlone
        const machine = text(jsonOf(yield* asksAlone).access_token)
        for (const token of [tokens.access, machine]) expect((yield* companies(there, token)).status).toBe(200)

        yield* act(world, client)
        // Over a store that does not answer at once, the token endpoint learns of it with the next check.
        const late = yield* asksAlone
        expect(late.status).toBe(200)
        for (const token of [tokens.access, machine, text(jsonOf(late).access_token)]) {
          expect((yield* companies(there, token)).status).toBe(401)
        }
        expect((yield* asksAlone).status).toBe(401)
        expect((yield* refresh(there, client, tokens.refresh)).status).toBe(401)
        expect((yield* companies(there, tokensOfOther.access)).status).toBe(200)
      }))
  }

  test("one that may no longer act for the workspace, and then may again", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, serving)
        const there = yield* world.elsewhere
        const answer = (change: "approved" | "refused") =>
          answerWorkspaceAccess(world.services, byOwner(world), ClientId.make(client.id), change)
        yield* answer("approved")
        const asked = yield* tokenRequest(there, client, { grant_type: "client_credentials" })
        const token = text(jsonOf(asked).access_token)
        for (const [change, status] of [
          ["refused", 401],
          ["approved", 200],
          ["refused", 401]
        ] as const) {
          yield* answer(change)
          expect((yield* companies(there, token)).status).toBe(status)
        }
      },
      { policy: { workspaceAccess: "approved" } }
    ))

  test("one that changed how it proves itself", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const tokens = yield* signInToApp(world, client)
      const there = yield* world.elsewhere
      expect((yield* companies(there, tokens.access)).status).toBe(200)
      const changed = yield* put(world, client, { token_endpoint_auth_method: "none" })
      expect(changed.status).toBe(200)
      yield* companies(there, tokens.access)
      expect((yield* refresh(there, client, tokens.refresh)).status).toBe(401)
    }))
})

describe("a key", () => {
  test("that came of a rotation too late is told with its end", () =>
    inWorld(function* (world) {
      const { grant: old } = yield* createKey(world.services, byOwner(world), terms)
      const first = yield* rotateKey(world.services, byOwner(world), old)
      const before = told(world).length
      expect(yield* rotateKey(world.services, byOwner(world), old)).toBeUndefined()
      const since = told(world).slice(before)
      expect(since.map(({ _tag }) => _tag)).toEqual(["KeyCreated", "KeyRevoked"])
      expect(new Set(since.map((event) => ("grant" in event ? event.grant : "none"))).size).toBe(1)
      const { values } = yield* world.services.grants.keys(world.workspace.id, { after: undefined, limit: 9 })
      expect(values.filter(({ _tag }) => _tag === "Key").map(({ id }) => id)).toEqual([first?.grant.id ?? old.id])
    }))

  test("lasts for whole milliseconds from now on", () =>
    inWorld(function* (world) {
      const { grant } = yield* createKey(world.services, byOwner(world), { name: "Short", lasts: 1500.9 })
      expect(grant.expiresAt).toBe(later(grant.createdAt, 1500))
      for (const lasts of [0, 0.9, -1, Number.NaN, Number.POSITIVE_INFINITY, 36_525 * 86_400_000 + 1]) {
        const refused = yield* Effect.flip(createKey(world.services, byOwner(world), { name: "K", lasts }))
        expect(refused).toMatchObject({ _tag: "BadKeyTerms", reason: "lifetime" })
      }
      expect(told(world).length).toBe(1)
    }))
})

test("a client is deleted, and that is noted, though its own grant could not be removed", () =>
  inWorld(function* (world) {
    const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
    const id = yield* Effect.fromOption(readClientId(client.id))
    const machine = tokenRequest(world, client, { grant_type: "client_credentials" })
    const access = text(jsonOf(yield* machine).access_token)
    world.away.add("remove grant")
    expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("deleted")
    world.away.clear()
    expect(told(world)).toEqual([{ _tag: "ClientDeleted", client: id, by: "command line" }])
    expect(world.log.filter((line) => line.includes("StorageUnavailable"))).toHaveLength(1)
    // What is left of it opens nothing, and nothing comes of it.
    expect((yield* companies(world, access)).status).toBe(401)
    expect((yield* machine).status).toBe(401)
  }))

describe("what an owner does to a client is done and noted once, and to one that is not known never", () => {
  type Act = (world: World, id: ClientId) => Effect.Effect<unknown, unknown>
  const serves =
    (address: string | null): Act =>
    (world, id) =>
      setServedResource(world.services, byOwner(world), world.workspace, id, address)
  const api = `${theWorkspace.issuer}/rest`
  const makes: Act = (world, id) => makeSecret(world.services, byOwner(world), id, 60_000)
  /** What is done before, what then, and how that is noted. */
  const acts: Readonly<Record<string, readonly [before: ReadonlyArray<Act>, act: Act]>> = {
    disabled: [[], (world, id) => setClientEnabled(world.services, byOwner(world), id, "disabled")],
    enabled: [
      [(world, id) => setClientEnabled(world.services, byOwner(world), id, "disabled")],
      (world, id) => setClientEnabled(world.services, byOwner(world), id, "enabled")
    ],
    secret_dropped: [[makes], (world, id) => dropSecret(world.services, byOwner(world), id)],
    jwt_access_tokens: [[], (world, id) => setAccessTokenFormat(world.services, byOwner(world), id, "jwt")],
    opaque_access_tokens: [[], (world, id) => setAccessTokenFormat(world.services, byOwner(world), id, "opaque")],
    exchange_allowed: [[], serves(api)],
    exchange_ended: [[serves(api)], serves(null)],
    approved: [[], (world, id) => answerWorkspaceAccess(world.services, byOwner(world), id, "approved")],
    refused: [[], (world, id) => answerWorkspaceAccess(world.services, byOwner(world), id, "refused")]
  }
  for (const [change, [before, act]] of Object.entries(acts)) {
    test(change, () =>
      inWorld(function* (world) {
        const id = ClientId.make((yield* registerClient(world, serving)).id)
        for (const first of before) yield* first(world, id)
        const known = told(world).length
        expect([yield* act(world, id), yield* act(world, id)]).toEqual(["done", "was_so"])
        const noted = { _tag: "ClientChanged", client: id, change, by: "command line" }
        expect<ReadonlyArray<unknown>>(told(world).slice(known)).toEqual([noted])
        const nobody = ClientId.make("n".repeat(22))
        const forgotten = ClientId.make((yield* registerClient(world, serving)).id)
        yield* TestClock.adjust("31 days")
        for (const one of [nobody, forgotten]) {
          expect([yield* act(world, one), yield* makes(world, one)]).toEqual(["unknown", "unknown"])
        }
        expect(told(world)).toHaveLength(known + 1)
      })
    )
  }

  const allActs: typeof acts = { ...acts, secret_made: [[], makes] }
  for (const [change, [before, act]] of Object.entries(allActs)) {
    test(`${change}, where the client goes between the look and the write`, () => {
      let goes = false
      const store = Layer.effect(
        Storage,
        Effect.map(Storage, (below): Storage["Service"] => ({
          ...below,
          replace: (expected, record) =>
            goes && record.kind === "client"
              ? Effect.andThen(below.remove(record), Effect.fail(new Conflict()))
              : below.replace(expected, record)
        }))
      ).pipe(Layer.provide(Memory.layer))
      return inWorld(
        function* (world) {
          const id = ClientId.make((yield* registerClient(world, serving)).id)
          for (const first of before) yield* first(world, id)
          const known = told(world)
          goes = true
          expect(yield* act(world, id)).toBe("unknown")
          expect(told(world)).toEqual(known)
        },
        { store }
      )
    })
  }

  test("but a secret is made each time", () =>
    inWorld(function* (world) {
      const id = ClientId.make((yield* registerClient(world, serving)).id)
      yield* makes(world, id)
      yield* dropSecret(world.services, byOwner(world), id)
      yield* makes(world, id)
      expect(told(world).map((event) => ("change" in event ? event.change : ""))).toEqual([
        "secret_made",
        "secret_dropped",
        "secret_made"
      ])
    }))

  test("unless the client may not be what it would be", () =>
    inWorld(function* (world) {
      const { services } = world
      const owner = byOwner(world)
      const browsers = ClientId.make((yield* registerClient(world, { token_endpoint_auth_method: "none" })).id)
      const own = yield* registerClientFor(services, owner, { ...serving, redirect_uris: [redirectUri] })
      expect(yield* serves(api)(world, browsers)).toBe("public")
      expect(yield* serves("https://elsewhere.example")(world, own.client.id)).toBe("no_resource")
      for (const id of [browsers, own.client.id]) {
        expect(yield* answerWorkspaceAccess(services, owner, id, "approved")).toBe("not_asked")
      }
      const profile = (id: ClientId, name: "standard" | "fapi2") => setSecurityProfile(services, owner, id, name)
      const broken = yield* profile(browsers, "fapi2")
      expect(typeof broken === "object" && broken.broken.length > 0).toBe(true)
      expect(yield* profile(browsers, "standard")).toBe("was_so")
      expect(yield* profile(ClientId.make("n".repeat(22)), "standard")).toBe("unknown")
      expect(told(world)).toEqual([])
    }))
})

test("a client that was forgotten for never having been used is not there to be switched or deleted", () =>
  inWorld(function* (world) {
    const id = yield* clientOf(world)
    yield* TestClock.adjust("31 days")
    expect(yield* setClientEnabled(world.services, byOwner(world), id, "disabled")).toBe("unknown")
    expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("unknown")
    expect(world.audit.map(({ event }) => event._tag)).toEqual(["ClientRegistered"])
  }))

describe("a client that an owner registers", () => {
  const misspelt = ["apii", "api profil", "API", "api, profile", "", " ", "api api openid"]
  const clientsOf = (world: World) => world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
  const asking = (scope: string) => ({ redirect_uris: ["https://app.example.org/cb"], scope })

  test.each(misspelt)("is not made with a scope that does not exist: %p", (scope) =>
    inWorld(function* (world) {
      const refused = yield* Effect.flip(registerClientFor(world.services, byOwner(world), asking(scope)))
      expect(refused).toMatchObject({ _tag: "InvalidClientMetadata", message: expect.stringContaining("api") })
      expect((yield* clientsOf(world)).values).toEqual([])
      expect(world.audit).toEqual([])
      // A stranger's is, since hosted products name the scopes of every server: it has those that exist, or all.
      const { client } = yield* registerClientFor(world.services, passing(world), asking(scope))
      expect(client.scope.length).toBeGreaterThan(0)
    })
  )

  test("is held to the scopes that it names", () =>
    inWorld(function* (world) {
      const { client } = yield* registerClientFor(world.services, byOwner(world), asking("profile"))
      expect(client.scope).toEqual(scopes("profile"))
      expect((yield* clientsOf(world)).values.map(({ scope }) => scope)).toEqual([scopes("profile")])
    }))
})
