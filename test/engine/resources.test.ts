import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { addResource, BadResource, removeResource } from "../../core/engine/administerWorkspace.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { byOwner } from "../given/auditContext.ts"
import { inWorld, type Steps, type World } from "../given/World.ts"

const api = "https://api.example.com"

const inOpened = (body: (world: World) => Steps<void>) => inWorld(body)

const openedOf = (world: World) => world.services.openings.open(world.workspace)

const add = (
  world: World,
  at: string,
  more: { readonly name?: string; readonly scopes?: ReadonlyArray<string>; readonly accessTokenTtl?: number } = {}
) =>
  Effect.flatMap(openedOf(world), (workspace) =>
    Effect.result(addResource(world.services, byOwner(world), workspace, { name: "", scopes: [], ...more, at }))
  )

const endOfTime = Instant.make(Number.MAX_SAFE_INTEGER)

const listed = (world: World, now = endOfTime) =>
  Effect.flatMap(openedOf(world), (workspace) =>
    Effect.map(world.services.openings.current(workspace, now), ({ resources = [] }) =>
      resources.map(({ at }) => String(at))
    )
  )

describe("the resources that an owner lists", () => {
  test("are added once, told to the audit, and removed", () =>
    inOpened(function* (world) {
      expect(Result.isSuccess(yield* add(world, `${api}/`, { scopes: ["api"] }))).toBe(true)
      expect(yield* listed(world)).toEqual([`${api}/`])
      expect(yield* add(world, api)).toEqual(Result.fail(new BadResource({ reason: "listed" })))
      const workspace = yield* openedOf(world)
      const remove = (at: string) => removeResource(world.services, byOwner(world), workspace, at)
      expect(yield* remove("https://other.example.com")).toBe(false)
      yield* add(world, "https://second.example.com")
      expect([yield* remove(api), yield* remove(api)]).toEqual([true, false])
      expect(yield* listed(world)).toEqual(["https://second.example.com"])
      expect(world.audit.map(({ event }) => event._tag)).toEqual(["ResourceAdded", "ResourceAdded", "ResourceRemoved"])
    }))

  test("are refused where they cannot be", () =>
    inOpened(function* (world) {
      const refused = (reason: BadResource["reason"]) => Result.fail(new BadResource({ reason }))
      for (const at of [
        "",
        "api.example.com",
        "http://api.example.com",
        `${api}?a`,
        `${api}/../x`,
        "https://a@b.example"
      ]) {
        expect(yield* add(world, at)).toEqual(refused("address"))
      }
      expect(yield* add(world, api, { scopes: ["unheard-of"] })).toEqual(refused("scopes"))
      expect(yield* add(world, api, { name: "\u202e" })).toEqual(refused("name"))
      for (const accessTokenTtl of [0, -1, 999, 1000.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(yield* add(world, api, { accessTokenTtl })).toEqual(refused("life"))
      }
      expect(yield* listed(world)).toEqual([])
      expect(Result.isSuccess(yield* add(world, api, { accessTokenTtl: 1000 }))).toBe(true)
    }))

  test("may be listed anew after a removal, by a process that still sees them, and never beside a configured one", () =>
    inOpened(function* (world) {
      yield* add(world, api)
      const seen = yield* world.services.openings.current(yield* openedOf(world), endOfTime)
      const act = (workspace: typeof seen) =>
        Effect.result(addResource(world.services, byOwner(world), workspace, { at: api, name: "", scopes: [] }))
      yield* removeResource(world.services, byOwner(world), seen, api)
      const { listed: ofOwners, ...configured } = seen
      expect(ofOwners?.map(({ at }) => String(at))).toEqual([api])
      expect(yield* act(configured)).toEqual(Result.fail(new BadResource({ reason: "listed" })))
      expect(Result.isSuccess(yield* act(seen))).toBe(true)
    }))

  test("are two hundred at most", () =>
    inOpened(function* (world) {
      for (let at = 0; at < 200; at++) expect(Result.isSuccess(yield* add(world, `${api}/${at}`))).toBe(true)
      expect(yield* add(world, api)).toEqual(Result.fail(new BadResource({ reason: "full" })))
      expect(yield* listed(world)).toHaveLength(200)
    }))

  test("are all there where several are added at once", () =>
    inOpened(function* (world) {
      const hosts = Array.from({ length: 8 }, (_, n) => `https://n${n}.example.com`)
      yield* Effect.forEach(hosts, (at) => add(world, at), { concurrency: "unbounded" })
      expect([...(yield* listed(world))].sort()).toEqual(hosts)
    }))
})
