import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  createKey,
  deleteClient,
  endGrant,
  revokeKey,
  rotateKey,
  setClientEnabled
} from "../../core/engine/administration.ts"
import { makeClients } from "../../core/engine/Clients.ts"
import { clientKind, makeRecords } from "../../core/engine/Records.ts"
import { readClientId, UserId } from "../../core/rules/Id.ts"
import { later } from "../../core/rules/Instant.ts"
import { byOwner } from "../given/auditContext.ts"
import { companies, jsonOf, registerClient, signInToApp, text, tokenRequest } from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

const told = (world: World) =>
  world.audit
    .map(({ event }) => event)
    .filter(
      ({ _tag }) =>
        _tag === "GrantRevoked" || _tag.startsWith("Key") || _tag === "ClientChanged" || _tag === "ClientDeleted"
    )

const clientOf = (world: World) =>
  Effect.flatMap(registerClient(world), ({ id }) => Effect.fromOption(readClientId(id)))

const terms = { name: "Export", lasts: undefined }

describe("what was done once is noted once", () => {
  test("a key's end, by two at a time or by one who comes late", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant } = yield* createKey(world.parts, byOwner(world), terms)
        const end = revokeKey(world.parts, byOwner(world), grant.id)
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
          setClientEnabled(world.parts, byOwner(world), id, change)
        )
        expect(outcomes).toEqual(["was_so", "done", "was_so", "done"])
        expect(world.calls.replace).toEqual(["client", "client"])
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
        const records = makeRecords(world.storage, clientKind)
        const { entropy, policy } = world.parts
        const elsewhere = makeClients(records, entropy, policy, yield* Clock.Clock)
        yield* elsewhere.find(world.workspace.id, id)
        expect(yield* deleteClient(world.parts, byOwner(world), id)).toBe("deleted")
        expect(yield* deleteClient({ ...world.parts, clients: elsewhere }, byOwner(world), id)).toBe("unknown")
        expect(told(world)).toEqual([{ _tag: "ClientDeleted", client: id, by: "command line" }])
      })
    ))

  test("a grant's end", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        yield* signInToApp(world, yield* registerClient(world))
        const page = { after: undefined, limit: 1 }
        const { values } = yield* world.parts.grants.ofUser(world.workspace.id, UserId.make("alice"), page)
        const { id } = yield* Effect.fromNullishOr(values[0])
        const end = endGrant(world.parts, byOwner(world), id)
        expect([yield* end, yield* end]).toEqual(["revoked", "was_revoked"])
        expect(told(world)).toEqual([
          { _tag: "GrantRevoked", grant: id.slice(0, 8), why: "by_user", by: "command line" }
        ])
        // It is no key, whoever takes it for one.
        expect(yield* revokeKey(world.parts, byOwner(world), id)).toBe("unknown")
      })
    ))
})

describe("a key", () => {
  test("that came of a rotation too late is told with its end", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant: old } = yield* createKey(world.parts, byOwner(world), terms)
        const first = yield* rotateKey(world.parts, byOwner(world), old)
        const before = told(world).length
        expect(yield* rotateKey(world.parts, byOwner(world), old)).toBeUndefined()
        const since = told(world).slice(before)
        expect(since.map(({ _tag }) => _tag)).toEqual(["KeyCreated", "KeyRevoked"])
        expect(new Set(since.map((event) => ("grant" in event ? event.grant : "none"))).size).toBe(1)
        const { values } = yield* world.parts.grants.keys(world.workspace.id, { after: undefined, limit: 9 })
        expect(values.filter(({ _tag }) => _tag === "Key").map(({ id }) => id)).toEqual([first?.grant.id ?? old.id])
      })
    ))

  test("lasts for whole milliseconds from now on", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { grant } = yield* createKey(world.parts, byOwner(world), { name: "Short", lasts: 1500.9 })
        expect(grant.expiresAt).toBe(later(grant.createdAt, 1500))
        for (const lasts of [0, 0.9, -1, Number.NaN, Number.POSITIVE_INFINITY, 36_525 * 86_400_000 + 1]) {
          const refused = yield* Effect.flip(createKey(world.parts, byOwner(world), { name: "K", lasts }))
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
      expect(yield* deleteClient(world.parts, byOwner(world), id)).toBe("deleted")
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
      expect(yield* setClientEnabled(world.parts, byOwner(world), id, "disabled")).toBe("unknown")
      expect(yield* deleteClient(world.parts, byOwner(world), id)).toBe("unknown")
      expect(world.audit.map(({ event }) => event._tag)).toEqual(["ClientRegistered"])
    })
  ))
