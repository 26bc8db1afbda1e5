import { describe, expect, test } from "bun:test"
import { Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { clientKey, readClientIdentifier } from "../../core/client/ClientIdentifier.ts"
import type { AuditContext } from "../../core/engine/AuditContext.ts"
import {
  answerWorkspaceAccess,
  deleteClient,
  dropSecret,
  findByIdentifier,
  makeSecret,
  registerClient as register,
  setAccessTokenFormat,
  setClientEnabled,
  setSecurityProfile,
  setServedResource
} from "../../core/engine/administerClients.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { Conflict } from "../../core/ports/Storage.ts"
import { ClientId, grantMark } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { makeSealer } from "../../core/token/KeyRing.ts"
import { byOwner, passing } from "../given/auditContext.ts"
import { redirectUri, registerClient } from "../given/flow.ts"
import { inWorld, keyFrom, t0, type World, type WorldOptions } from "../given/World.ts"
import { voucher } from "../oauth/voucher.ts"

const rowless: WorldOptions = { policy: { registrationRows: "at_consent" }, grants: [...grantTypes, voucher] }
const deviceCode = "urn:ietf:params:oauth:grant-type:device_code"

const sealingOf = ({ workspace }: World) => ({ sealer: makeSealer([keyFrom(1)]), place: workspace })

const eventsOf = (world: World) => world.audit.map(({ event }) => event)

describe("a registration that need not be written yet", () => {
  interface Row {
    readonly what: string
    readonly asks: ReadonlyArray<string>
    readonly by?: (world: World) => AuditContext
    readonly isUnsealed?: true
    readonly options?: WorldOptions
    readonly isWritten: boolean
  }
  const rows: ReadonlyArray<Row> = [
    { what: "for people", asks: ["authorization_code", "refresh_token"], isWritten: false },
    { what: "for devices", asks: [deviceCode], isWritten: false },
    { what: "for itself", asks: ["client_credentials"], isWritten: false },
    { what: "for something that a host made", asks: ["authorization_code", voucher.name], isWritten: true },
    { what: "by an owner", asks: ["authorization_code"], by: byOwner, isWritten: true },
    { what: "where nothing seals", asks: ["authorization_code"], isUnsealed: true, isWritten: true },
    { what: "where all are written", asks: ["authorization_code"], options: {}, isWritten: true }
  ]
  for (const { asks, by = passing, isUnsealed, isWritten, options = rowless, what } of rows) {
    test(`${what} ${isWritten ? "is written all the same" : "is sealed, and takes no room"}`, () =>
      inWorld(function* (world) {
        let asked = 0
        const room = Effect.sync(() => void asked++)
        const request = { redirect_uris: [redirectUri], grant_types: asks }
        const sealing = isUnsealed === true ? undefined : sealingOf(world)
        const made = yield* register(world.services, by(world), request, null, room, sealing)
        const stored = yield* world.services.clients.findStored(world.workspace.id, made.client.id)
        expect([stored !== undefined, asked, made.client.origin === undefined]).toEqual([
          isWritten,
          isWritten ? 1 : 0,
          isWritten
        ])
        const { id } = made.client
        const event = { _tag: "ClientRegistered", client: id, ...(by === byOwner ? { by: "command line" } : {}) }
        expect<ReadonlyArray<unknown>>(eventsOf(world)).toEqual(isWritten ? [event] : [])
      }, options))
  }

  test("is written nowhere where there is no room", () =>
    inWorld(function* (world) {
      const request = { redirect_uris: [redirectUri] }
      const full = register(world.services, passing(world), request, null, Effect.fail("full"))
      expect(yield* Effect.flip(full)).toBe("full")
      expect([world.calls.insert, eventsOf(world)]).toEqual([[], []])
    }))

  test("hands out no secret on an id that is taken", () =>
    inWorld(function* (world) {
      const clients = { ...world.services.clients, add: () => Effect.fail(new Conflict()) }
      const made = register({ ...world.services, clients }, passing(world), { redirect_uris: [redirectUri] })
      expect(yield* Effect.flip(made)).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
      expect(eventsOf(world)).toEqual([])
    }))
})

describe("what an owner does to a client", () => {
  const made = (world: World, more: object = {}) =>
    Effect.map(
      registerClient(world, { grant_types: ["authorization_code", "client_credentials"], ...more }),
      ({ id }) => ClientId.make(id)
    )
  const stored = (world: World, id: ClientId) => world.services.clients.findStored(world.workspace.id, id)
  const nobody = ClientId.make("n".repeat(22))

  test("a secret is told once as text, beside those that work from then on", () =>
    inWorld(function* (world) {
      const { services } = world
      const owner = byOwner(world)
      const id = yield* made(world)
      const first = yield* makeSecret(services, owner, id, 1000)
      if (first === "unknown") throw new Error("it is there")
      expect(Redacted.value(first.text)).toMatch(/^tsr_cs_/)
      expect(first.live).toHaveLength(2)
      expect(yield* Effect.flip(makeSecret(services, owner, id, 1000))).toMatchObject({ _tag: "SecretRefused" })
      yield* TestClock.adjust(1000)
      const second = yield* makeSecret(services, owner, id, 0)
      expect(second !== "unknown" && second.live).toHaveLength(1)
      expect([yield* dropSecret(services, owner, id), yield* dropSecret(services, owner, nobody)]).toEqual([
        "was_so",
        "unknown"
      ])
    }))

  test("each thing leaves all else of it as it is", () =>
    inWorld(
      function* (world) {
        const { services, workspace } = world
        const owner = byOwner(world)
        const id = yield* made(world, { dpop_bound_access_tokens: true, client_name: "Orders" })
        const done = <A, E>(thing: Effect.Effect<A, E>) => Effect.orDie(Effect.asVoid(thing))
        const things = [
          [["grantTypes", "serves"], done(setServedResource(services, owner, workspace, id, workspace.issuer))],
          [["accessTokenFormat"], done(setAccessTokenFormat(services, owner, id, "jwt"))],
          [["expiresAt", "workspaceAccess"], done(answerWorkspaceAccess(services, owner, id, "approved"))],
          [["credential"], done(makeSecret(services, owner, id, 1000))],
          [["credential"], done(dropSecret(services, owner, id))],
          [["disabled"], done(setClientEnabled(services, owner, id, "disabled"))]
        ] as const
        const others = [
          [["disabled"], done(setClientEnabled(services, owner, id, "enabled"))],
          [["accessTokenFormat"], done(setAccessTokenFormat(services, owner, id, "opaque"))],
          [["expiresAt", "workspaceAccess"], done(answerWorkspaceAccess(services, owner, id, "refused"))],
          [["grantTypes", "serves"], done(setServedResource(services, owner, workspace, id, null))]
        ] as const
        // Each comes after each other one.
        for (const [changed, thing] of [...things, ...others, ...things]) {
          const before = new Map(Object.entries((yield* stored(world, id)) ?? {}))
          yield* thing
          const after = new Map(Object.entries((yield* stored(world, id)) ?? {}))
          const differ = [...new Set([...before.keys(), ...after.keys()])].filter(
            (name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name))
          )
          expect(differ.sort()).toEqual([...changed])
        }
      },
      { policy: { workspaceAccess: "approved" } }
    ))

  test("a profile that it breaks is refused by each rule that it breaks, and changes nothing", () =>
    inWorld(function* (world) {
      const id = yield* made(world, { token_endpoint_auth_method: "none", grant_types: ["authorization_code"] })
      const before = yield* stored(world, id)
      const known = eventsOf(world).length
      const set = (one: ClientId) => setSecurityProfile(world.services, byOwner(world), one, "fapi2")
      const refused = yield* set(id)
      expect(refused).toEqual({ broken: [expect.any(String)] })
      expect(yield* stored(world, id)).toEqual(before)
      expect(yield* set(nobody)).toBe("unknown")
      yield* TestClock.adjust("31 days")
      expect(yield* set(id)).toBe("unknown")
      expect(eventsOf(world)).toHaveLength(known)
    }))

  test("that it serves no resource is the case already, of a public one too", () =>
    inWorld(function* (world) {
      const [own, open] = [yield* made(world), yield* registerClient(world, { token_endpoint_auth_method: "none" })]
      const known = eventsOf(world).length
      for (const id of [own, ClientId.make(open.id)]) {
        const serves = (address: string | null) =>
          setServedResource(world.services, byOwner(world), world.workspace, id, address)
        expect(yield* serves(null)).toBe("was_so")
        expect(yield* serves("not an address")).toBe("no_resource")
      }
      expect(eventsOf(world)).toHaveLength(known)
    }))

  test("the API that it serves has to go into its record beside what it registered, or nothing changes", () =>
    inWorld(function* (world) {
      const { issuer } = world.workspace
      const long = `${issuer}/${"a".repeat(1500)}`
      const [few, wordy] = [yield* made(world), yield* made(world, { contacts: Array(3).fill("x".repeat(2000)) })]
      const serves = (id: ClientId, address: string | null) =>
        setServedResource(world.services, byOwner(world), world.workspace, id, address)
      const [before, known] = [yield* stored(world, wordy), eventsOf(world).length]
      expect(yield* serves(wordy, long)).toBe("too_long")
      expect([yield* stored(world, wordy), eventsOf(world).length]).toEqual([before, known])
      expect([yield* serves(few, long), yield* serves(wordy, `${issuer}/a`)]).toEqual(["done", "done"])
      // What it has is taken back in any case, and nothing takes its place that is too long.
      expect(yield* serves(wordy, long)).toBe("too_long")
      expect([yield* serves(wordy, null), yield* serves(wordy, null)]).toEqual(["done", "was_so"])
    }))

  test("its own grant that cannot be removed is named in the log by its mark alone", () =>
    inWorld(function* (world) {
      const id = yield* made(world)
      const client = yield* stored(world, id)
      const grant = client?.workspaceGrant
      world.away.add("remove grant")
      expect(yield* deleteClient(world.services, byOwner(world), id)).toBe("deleted")
      const about = { workspace: world.workspace.id, client: id, grant: grant && grantMark(grant) }
      expect(world.log.join("\n")).toContain(JSON.stringify(about).slice(0, -1))
    }))
})

test("a client is found by what it goes by, whether it has a record yet or not", () =>
  inWorld(function* (world) {
    const sealed = yield* registerClient(world, { token_endpoint_auth_method: "none" })
    const drawn = yield* register(world.services, byOwner(world), { redirect_uris: [redirectUri] })
    const find = (of: string) =>
      Effect.flatMap(Effect.fromOption(readClientIdentifier(of)), (identifier) =>
        findByIdentifier(world.services, world.workspace, identifier)
      )
    expect((yield* find(drawn.client.id))?.id).toBe(drawn.client.id)
    const found = yield* find(sealed.id)
    expect([found?.origin?.identifier as string, found?.createdAt]).toEqual([sealed.id, Instant.make(t0)])
    expect(found?.id).toBe(clientKey(Option.getOrThrow(readClientIdentifier(sealed.id))))
    expect(yield* find("n".repeat(22))).toBeUndefined()
    expect(yield* find(`${sealed.id.slice(0, -4)}AAAA`)).toBeUndefined()
    expect(yield* find("https://app.example.org/client.json")).toBeUndefined()
  }, rowless))
