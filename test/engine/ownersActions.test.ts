import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  answerWorkspaceAccess,
  deleteClient,
  registerClient as registerClientFor,
  setClientEnabled
} from "../../core/engine/administerClients.ts"
import { createKey, endGrant, revokeKey, rotateKey } from "../../core/engine/administerGrants.ts"
import { makeClients } from "../../core/engine/Clients.ts"
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
import { inWorld, type World } from "../given/World.ts"
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
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant } = yield* createKey(world.services, byOwner(world), terms)
        const end = revokeKey(world.services, byOwner(world), grant.id)
        const outcomes = yield* Effect.all([end, end], { concurrency: 2 })
        expect([...outcomes, yield* end].toSorted()).toEqual(["revoked", "was_revoked", "was_revoked"])
        expect(told(world)).toEqual([
          { _tag: "KeyCreated", grant: grant.id.slice(0, 8), by: "command line" },
          { _tag: "KeyRevoked", grant: grant.id.slice(0, 8), by: "command line" }
        ])
      })
    ))

  test("a client's being switched off, and on", () =>
    inWorld((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("a client's end, by one process and then by another that knew it before", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const id = yield* clientOf(world)
        const { entropy, policy } = world.services
        const elsewhere = makeClients(world.storage, entropy, policy, yield* Clock.Clock)
        yield* elsewhere.find(world.workspace.id, id)
        expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("deleted")
        expect(yield* deleteClient({ ...world.services, clients: elsewhere }, byOwner(world), id)).toBe("unknown")
        expect(told(world)).toEqual([{ _tag: "ClientDeleted", client: id, by: "command line" }])
      })
    ))

  test("a grant's end", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        yield* signInToApp(world, yield* registerClient(world))
        const page = { after: undefined, limit: 1 }
        const { values } = yield* world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), page)
        const { id } = yield* Effect.fromNullishOr(values[0])
        const end = endGrant(world.services, byOwner(world), id)
        expect([yield* end, yield* end]).toEqual(["revoked", "was_revoked"])
        expect(told(world)).toEqual([
          { _tag: "GrantRevoked", grant: id.slice(0, 8), why: "by_user", by: "command line" }
        ])
        // It is no key, whoever takes it for one.
        expect(yield* revokeKey(world.services, byOwner(world), id)).toBe("unknown")
      })
    ))
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
      inWorld((world) =>
        Effect.gen(function* () {
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
        })
      ))
  }

  test("one that may no longer act for the workspace, and then may again", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
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
        }),
      { policy: { workspaceAccess: "approved" } }
    ))

  test("one that changed how it proves itself", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const tokens = yield* signInToApp(world, client)
        const there = yield* world.elsewhere
        expect((yield* companies(there, tokens.access)).status).toBe(200)
        const changed = yield* put(world, client, { token_endpoint_auth_method: "none" })
        expect(changed.status).toBe(200)
        yield* companies(there, tokens.access)
        expect((yield* refresh(there, client, tokens.refresh)).status).toBe(401)
      })
    ))
})

describe("a key", () => {
  test("that came of a rotation too late is told with its end", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant: old } = yield* createKey(world.services, byOwner(world), terms)
        const first = yield* rotateKey(world.services, byOwner(world), old)
        const before = told(world).length
        expect(yield* rotateKey(world.services, byOwner(world), old)).toBeUndefined()
        const since = told(world).slice(before)
        expect(since.map(({ _tag }) => _tag)).toEqual(["KeyCreated", "KeyRevoked"])
        expect(new Set(since.map((event) => ("grant" in event ? event.grant : "none"))).size).toBe(1)
        const { values } = yield* world.services.grants.keys(world.workspace.id, { after: undefined, limit: 9 })
        expect(values.filter(({ _tag }) => _tag === "Key").map(({ id }) => id)).toEqual([first?.grant.id ?? old.id])
      })
    ))

  test("lasts for whole milliseconds from now on", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant } = yield* createKey(world.services, byOwner(world), { name: "Short", lasts: 1500.9 })
        expect(grant.expiresAt).toBe(later(grant.createdAt, 1500))
        for (const lasts of [0, 0.9, -1, Number.NaN, Number.POSITIVE_INFINITY, 36_525 * 86_400_000 + 1]) {
          const refused = yield* Effect.flip(createKey(world.services, byOwner(world), { name: "K", lasts }))
          expect(refused).toMatchObject({ _tag: "BadKeyTerms", reason: "lifetime" })
        }
        expect(told(world).length).toBe(1)
      })
    ))
})

test("a client is deleted, and that is noted, though its own grant could not be removed", () =>
  inWorld((world) =>
    Effect.gen(function* () {
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
    })
  ))

test("a client that was forgotten for never having been used is not there to be switched or deleted", () =>
  inWorld((world) =>
    Effect.gen(function* () {
      const id = yield* clientOf(world)
      yield* TestClock.adjust("31 days")
      expect(yield* setClientEnabled(world.services, byOwner(world), id, "disabled")).toBe("unknown")
      expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("unknown")
      expect(world.audit.map(({ event }) => event._tag)).toEqual(["ClientRegistered"])
    })
  ))

describe("a client that an owner registers", () => {
  const misspelt = ["apii", "api profil", "API", "api, profile", "", " ", "api api openid"]
  const clientsOf = (world: World) => world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
  const asking = (scope: string) => ({ redirect_uris: ["https://app.example.org/cb"], scope })

  test.each(misspelt)("is not made with a scope that does not exist: %p", (scope) =>
    inWorld((world) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(registerClientFor(world.services, byOwner(world), asking(scope)))
        expect(refused).toMatchObject({ _tag: "InvalidClientMetadata", message: expect.stringContaining("api") })
        expect((yield* clientsOf(world)).values).toEqual([])
        expect(world.audit).toEqual([])
        // A stranger's is, since hosted products name the scopes of every server: it has those that exist, or all.
        const { client } = yield* registerClientFor(world.services, passing(world), asking(scope))
        expect(client.scope.length).toBeGreaterThan(0)
      })
    )
  )

  test("is held to the scopes that it names", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { client } = yield* registerClientFor(world.services, byOwner(world), asking("profile"))
        expect(client.scope).toEqual(scopes("profile"))
        expect((yield* clientsOf(world)).values.map(({ scope }) => scope)).toEqual([scopes("profile")])
      })
    ))
})
