import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  BadHost,
  BadIssuer,
  blockClientHost,
  changeIssuer,
  type IssuerTyped,
  readIssuer,
  removeIssuer,
  retireSigningKey,
  rotateSigningKeys,
  takeClientDocuments,
  trustIssuer,
  unblockClientHost
} from "../../core/engine/administerWorkspace.ts"
import { type DocumentHosts, mostHosts } from "../../core/rules/DocumentHosts.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { standardScopes } from "../../core/rules/Scope.ts"
import type { OpenWorkspace } from "../../core/workspace/Workspace.ts"
import { byOwner } from "../given/auditContext.ts"
import { registerClient } from "../given/flow.ts"
import { inWorld, realSignatures, type Steps, t0, theWorkspace, type World } from "../given/World.ts"

const issuer = "https://login.example.com"
const other = "https://other.example.com"
const typed = (at: string, more: Partial<IssuerTyped> = {}): IssuerTyped => ({
  issuer: at,
  jwksUri: `${at}/keys`,
  ...more
})

const opened = (world: World) => world.services.openings.open(world.workspace)

const told = (world: World, tag: string) =>
  world.audit.flatMap(({ event }) => (event._tag.startsWith(tag) ? [event as Readonly<Record<string, unknown>>] : []))

const asText = (one: { readonly issuer: string; readonly people: string }) => `${one.issuer} ${one.people}`

const inOpened = (
  body: (
    world: World,
    act: {
      readonly trust: (of: IssuerTyped) => Effect.Effect<unknown>
      readonly change: (of: IssuerTyped) => Effect.Effect<unknown>
      readonly remove: (at: string) => Effect.Effect<unknown>
      readonly trusted: Effect.Effect<ReadonlyArray<string>>
    }
  ) => Steps<void>
) =>
  inWorld(function* (world) {
    const workspace = yield* opened(world)
    const by = byOwner(world)
    const told = <A, E>(of: Effect.Effect<A, E>) =>
      Effect.match(of, { onSuccess: (value): unknown => value, onFailure: (fault) => fault })
    yield* body(world, {
      trust: (of) => told(trustIssuer(world.services, by, workspace, of)),
      change: (of) => told(changeIssuer(world.services, by, workspace, of)),
      remove: (at) => told(removeIssuer(world.services, by, workspace, at)),
      trusted: Effect.orDie(
        world.services.openings.trust(workspace, (all) => ({
          next: undefined,
          outcome: Result.succeed(all.map(asText))
        }))
      )
    })
  })

describe("the issuers that an owner trusts", () => {
  test("are trusted once, changed and removed, each for itself, and told to the audit", () =>
    inOpened(function* (world, { change, remove, trust, trusted }) {
      yield* trust(typed(issuer))
      yield* trust(typed(other))
      expect(yield* trust(typed(issuer))).toEqual(new BadIssuer({ reason: "trusted" }))
      expect(yield* trusted).toEqual([`${issuer} known`, `${other} known`])
      expect(yield* change(typed(other, { people: "made" }))).toMatchObject({ issuer: other, people: "made" })
      expect(yield* change(typed("https://nobody.example.com"))).toBeUndefined()
      expect(yield* trusted).toEqual([`${issuer} known`, `${other} made`])
      expect([yield* remove("https://nobody.example.com"), yield* remove(issuer), yield* remove(issuer)]).toEqual([
        false,
        true,
        false
      ])
      expect(yield* trusted).toEqual([`${other} made`])
      const by = "command line"
      expect(told(world, "Issuer")).toEqual([
        { _tag: "IssuerTrusted", issuer, by },
        { _tag: "IssuerTrusted", issuer: other, by },
        { _tag: "IssuerChanged", issuer: other, by },
        { _tag: "IssuerRemoved", issuer, by }
      ])
    }))

  test("end what they brought where their keys are others, and go on where they are the same", () =>
    inOpened(function* (_, { change, trust }) {
      expect(yield* trust(typed(issuer))).toMatchObject({ since: t0 })
      yield* TestClock.adjust("1 minute")
      expect(yield* change(typed(issuer, { people: "made" }))).toMatchObject({ since: t0 })
      expect(yield* change(typed(issuer, { jwksUri: `${issuer}/others` }))).toMatchObject({ since: t0 + 60_000 })
    }))

  test("are twenty at most, beside those that are configured, of which none is trusted twice", () =>
    inOpened(function* (world, { trust, trusted }) {
      for (let at = 0; at < 20; at++) expect(yield* trust(typed(`${issuer}/${at}`))).toMatchObject({ people: "known" })
      expect(yield* trust(typed(issuer))).toEqual(new BadIssuer({ reason: "full" }))
      expect(yield* trusted).toHaveLength(20)
      const configured = Result.getOrThrow(readIssuer(typed(other), theWorkspace, standardScopes))
      const workspace = { ...(yield* opened(world)), trustedIssuers: [configured] }
      const refused = yield* Effect.flip(trustIssuer(world.services, byOwner(world), workspace, typed(other)))
      expect(refused).toEqual(new BadIssuer({ reason: "trusted" }))
      expect(told(world, "Issuer")).toHaveLength(20)
    }))

  const read = (more: Partial<IssuerTyped>) => readIssuer(typed(issuer, more), theWorkspace, standardScopes)

  test("are held to what the workspace has", () => {
    const refused = (reason: BadIssuer["reason"]) => Result.fail(new BadIssuer({ reason }))
    const rows: ReadonlyArray<readonly [Partial<IssuerTyped>, unknown]> = [
      [{ jwksUri: undefined }, refused("keys")],
      [{ jwks: { keys: [] } }, refused("keys")],
      [{ scopes: ["unheard-of"] }, refused("scopes")],
      [{ scopes: ["api", "unheard-of"] }, refused("scopes")],
      [{ resources: ["https://elsewhere.example"] }, refused("resources")],
      [{ resources: [`${theWorkspace.issuer}/rest`, "no address"] }, refused("resources")],
      [{ issuer: "http://login.example.com" }, refused("malformed")],
      [{ domains: ["not a domain"] }, refused("malformed")]
    ]
    for (const [more, expected] of rows) expect<unknown>([more, read(more)]).toEqual([more, expected])
  })

  test("are as they were typed, where an empty list is none", () => {
    const plain = { issuer, keys: { _tag: "Fetched" as const, jwksUri: `${issuer}/keys` }, people: "known" as const }
    expect<unknown>(read({})).toStrictEqual(Result.succeed(plain))
    expect<unknown>(read({ clients: [], scopes: [], resources: [], domains: [] })).toStrictEqual(Result.succeed(plain))
    const more = {
      clients: ["https://app.example/client.json"],
      scopes: ["api"],
      resources: [`${theWorkspace.issuer}/rest/`],
      domains: ["Example.COM"],
      people: "made",
      takes: "any"
    } as const
    expect<unknown>(read(more)).toStrictEqual(
      Result.succeed({
        ...plain,
        ...more,
        resources: [`${theWorkspace.issuer}/rest`],
        domains: ["example.com"]
      })
    )
  })
})

describe("the hosts of clients' documents", () => {
  const inHosts = (body: (world: World, workspace: OpenWorkspace) => Effect.Effect<void, unknown>) =>
    inWorld((world) => Effect.flatMap(opened(world), (workspace) => body(world, workspace)))

  test("are blocked and unblocked once, as they are compared, and told to the audit", () =>
    inHosts((world, workspace) =>
      Effect.gen(function* () {
        const by = byOwner(world)
        // It came from no document, so no host is its own.
        const { id } = yield* registerClient(world)
        const blocked = world.services.openings.blockedHosts(workspace.id)
        const block = (host: string) => blockClientHost(world.services, by, workspace, host)
        const unblock = (host: string) => unblockClientHost(world.services, by, workspace, host)
        for (const host of [
          " Evil.Example ",
          "evil.example",
          "EVIL.example:443 ",
          "*.evil.example",
          "*.evil.example:443"
        ]) {
          expect(yield* block(host)).toBe(0)
        }
        expect(yield* blocked).toEqual(["evil.example", "*.evil.example"])
        expect(yield* world.services.clients.find(workspace.id, ClientId.make(id))).toBeDefined()
        for (const odd of ["", "https://evil.example", "evil example"]) {
          expect(yield* Effect.flip(block(odd))).toEqual(new BadHost({ reason: "host" }))
        }
        expect([
          yield* unblock("good.example"),
          yield* unblock("evil.example"),
          yield* unblock("evil.example")
        ]).toEqual([false, true, false])
        expect(yield* blocked).toEqual(["*.evil.example"])
        // Typed as it was blocked, in whatever way.
        expect([yield* unblock(" *.Evil.Example:443"), yield* unblock("*.evil.example")]).toEqual([true, false])
        expect(told(world, "ClientHost").map(({ _tag, host }) => [_tag, host])).toEqual([
          ["ClientHostBlocked", "evil.example"],
          ["ClientHostBlocked", "*.evil.example"],
          ["ClientHostUnblocked", "evil.example"],
          ["ClientHostUnblocked", "*.evil.example"]
        ])
        // As an earlier release kept it.
        yield* world.services.openings.block(workspace, () => ["old.example:443", "old.example", "other.example"])
        expect(yield* unblock("old.example:443")).toBe(true)
        expect(yield* blocked).toEqual(["other.example"])
      })
    ))

  test("are a thousand at most", () =>
    inHosts((world, workspace) =>
      Effect.gen(function* () {
        const many = Array.from({ length: mostHosts - 1 }, (_, at) => `a${at}.example`)
        yield* world.services.openings.block(workspace, () => many)
        const block = (host: string) => Effect.result(blockClientHost(world.services, byOwner(world), workspace, host))
        expect(yield* block("last.example")).toEqual(Result.succeed(0))
        expect(yield* block("more.example")).toEqual(Result.fail(new BadHost({ reason: "full" })))
        expect(told(world, "ClientHost")).toHaveLength(1)
        const take = (hosts: ReadonlyArray<string>) =>
          Effect.result(takeClientDocuments(world.services, byOwner(world), workspace, hosts))
        const all = [...many, "last.example"]
        expect(yield* take(all)).toEqual(Result.succeed(undefined))
        expect(yield* take([...all, "LAST.example "])).toEqual(Result.succeed(undefined))
        expect(yield* take([...all, "more.example"])).toEqual(Result.fail(new BadHost({ reason: "full" })))
      })
    ))

  test("are taken as they are compared, and a change is told once", () =>
    inHosts((world, workspace) =>
      Effect.gen(function* () {
        const take = (hosts: DocumentHosts) =>
          Effect.result(takeClientDocuments(world.services, byOwner(world), workspace, hosts))
        const done = Result.succeed(undefined)
        expect(yield* take([" Claude.AI ", "claude.ai", "claude.ai:443"])).toEqual(done)
        expect(yield* take(["claude.ai"])).toEqual(done)
        expect(yield* take(["claude.ai", "not a host"])).toEqual(Result.fail(new BadHost({ reason: "host" })))
        expect([yield* take("any"), yield* take("any"), yield* take([])]).toEqual([done, done, done])
        expect(told(world, "ClientDocuments").map(({ hosts }) => hosts)).toEqual([["claude.ai"], "any", []])
      })
    ))
})

describe("an owner's signing keys", () => {
  const changes = (world: World) =>
    told(world, "SigningKeysChanged").map(({ by, change, key }) => `${by} ${change} ${key}`)

  test("are rotated where something was signed and none waits, and each new one is on record", () =>
    inWorld(
      function* (world) {
        const { services, workspace } = world
        const rotate = rotateSigningKeys(services, byOwner(world), workspace)
        expect(yield* rotate).toBeUndefined()
        const now = yield* currentInstant
        yield* services.signing.ready(workspace, { algorithm: "ES256", life: 60_000 }, now)
        const first = yield* rotate
        expect(first?.keys).toHaveLength(2)
        expect(yield* rotate).toEqual(first)
        expect(changes(world)).toEqual([`command line rotated ${first?.keys[1]?.kid}`])
      },
      { signatures: realSignatures }
    ))

  test("go once nothing lives that they signed, or at once where others may have them, and what stays is not on record", () =>
    inWorld(
      function* (world) {
        const { services, workspace } = world
        const now = yield* currentInstant
        yield* services.signing.ready(workspace, { algorithm: "ES256", life: 60_000 }, now)
        const keys = yield* rotateSigningKeys(services, byOwner(world), workspace)
        const [current = "", next = ""] = (keys?.keys ?? []).map(({ kid }) => kid)
        const retire = (kid: string, how: "expired" | "compromised") =>
          retireSigningKey(services, byOwner(world), workspace, kid, how)
        world.audit.length = 0
        expect(yield* retire("nobody's", "expired")).toBe("unknown")
        expect(yield* retire(current, "expired")).toBe("signs")
        expect(changes(world)).toEqual([])
        expect(yield* retire(next, "expired")).toBe("retired")
        expect(yield* retire(current, "compromised")).toBe("retired")
        expect(changes(world)).toEqual([`command line retired ${next}`, `command line withdrawn ${current}`])
        expect(yield* retire(current, "compromised")).toBe("unknown")
        expect(changes(world)).toHaveLength(2)
      },
      { signatures: realSignatures }
    ))
})
