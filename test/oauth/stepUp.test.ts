import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import {
  authorizeTarget,
  bearing,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  redeem,
  registerClient,
  returned,
  signInToApp,
  text,
  tokensOf
} from "../given/flow.ts"
import type { World } from "../given/World.ts"
import { csrfOf, idsOn, inSettings } from "../settings/given.ts"

/** The lists of the consent page: under each heading, the names of its scopes. */
const listsOf = (body: string): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    [...body.matchAll(/<ul class="permissions" aria-labelledby="([a-z]+)">(.*?)<\/ul>/gs)].map(
      ([, id = "", list = ""]) => [
        id,
        [...list.matchAll(/<code class="scope">([^<]+)<\/code>/g)].map(([, name = ""]) => name)
      ]
    )
  )

const appsOf = (world: World) =>
  Effect.map(world.send("GET", "/settings/apps", { as: "alice" }), ({ body }) =>
    body
      .split('<li class="row">')
      .slice(1)
      .map((row) => ({
        id: idsOn({ status: 200, headers: [], body: row })[0],
        scopes: [...row.matchAll(/<code class="scope">([^<]+)<\/code>/g)].map(([, name = ""]) => name)
      }))
  )

describe("a client that comes back for more", () => {
  test("is told what it lacks, and its person sees what is new beside what it has", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client, { scope: "api" })
      const refused = yield* world.send("GET", "/oauth/userinfo", { headers: bearing(first.access) })
      expect(refused.status).toBe(403)
      expect(header(refused, "www-authenticate")).toContain('scope="profile"')
      const page = yield* world.send("GET", authorizeTarget(client, { scope: "api profile" }), { as: "alice" })
      expect(listsOf(page.body)).toEqual({ permissions: ["profile"], allowed: ["api"] })
      const code = text(returned(yield* decide(world, page, "approve")).get("code"))
      const more = tokensOf(yield* redeem(world, client, code))
      expect((yield* world.send("GET", "/oauth/userinfo", { headers: bearing(more.access) })).status).toBe(200)
      // Nothing new: then all of it stands as allowed.
      const again = yield* world.send("GET", authorizeTarget(client, { scope: "api" }), { as: "alice" })
      expect(listsOf(again.body)).toEqual({ allowed: ["api"] })
    }))

  test("shows to no other caller what it has", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      yield* signInToApp(world, client, { scope: "api" })
      const other = yield* registerClient(world)
      for (const [asking, as] of [
        [client, "bob"],
        [other, "alice"]
      ] as const) {
        const page = yield* world.send("GET", authorizeTarget(asking, { scope: "api" }), { as })
        expect(listsOf(page.body)).toEqual({ permissions: ["api"] })
      }
      // For another resource it is new.
      const narrow = { scope: "api", resource: `${world.workspace.issuer}/rest` }
      const bound = yield* registerClient(world)
      yield* signInToApp(world, bound, narrow)
      const wide = yield* world.send("GET", authorizeTarget(bound, { scope: "api" }), { as: "alice" })
      expect(listsOf(wide.body)).toEqual({ permissions: ["api"] })
      const same = yield* world.send("GET", authorizeTarget(bound, narrow), { as: "alice" })
      expect(listsOf(same.body)).toEqual({ allowed: ["api"] })
    }))

  test("is one connection, ended together", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const tokens = [
        yield* signInToApp(world, client, { scope: "api" }),
        yield* signInToApp(world, client, { scope: "profile" })
      ]
      const kept = yield* signInToApp(world, other, { scope: "api" })
      const apps = yield* appsOf(world)
      expect(apps.map(({ scopes }) => [...scopes].sort()).sort((a, b) => b.length - a.length)).toEqual([
        ["api", "profile"],
        ["api"]
      ])
      const both = apps.find(({ scopes }) => scopes.length === 2)
      const revoked = yield* world.send("POST", "/settings/apps", {
        as: "alice",
        headers: formHeaders,
        body: form({ csrf: csrfOf(world, "alice"), action: "revoke", id: both?.id })
      })
      expect(header(revoked, "location")).toContain("app-revoked")
      for (const { access } of tokens) {
        const answer = yield* world.send("GET", "/rest/companies", { headers: bearing(access) })
        expect(answer.status).toBe(401)
      }
      expect((yield* world.send("GET", "/rest/companies", { headers: bearing(kept.access) })).status).toBe(200)
      expect((yield* appsOf(world)).length).toBe(1)
      const grants = yield* world.services.grants.ofUser(world.workspace.id, UserId.make("alice"), {
        after: undefined,
        limit: 10
      })
      expect(grants.values.map(({ _tag }) => _tag).sort()).toEqual(["Active", "Revoked", "Revoked"])
      expect(jsonOf(yield* world.send("GET", "/rest/companies", { headers: bearing(kept.access) })).as).toMatchObject({
        user: "alice"
      })
    }))

  test("may ask for more than it registered for, unless an owner made it", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { scope: "api" })
      const asking = (scope?: string) =>
        world.send("GET", authorizeTarget(client, scope === undefined ? {} : { scope }), { as: "alice" })
      expect(listsOf((yield* asking("profile api")).body)).toEqual({ permissions: ["api", "profile"] })
      // What it registered for is what it asks for where it says nothing.
      expect(listsOf((yield* asking()).body)).toEqual({ permissions: ["api"] })
      expect((yield* signInToApp(world, client, { scope: "profile" })).scope).toBe("profile")

      yield* world.services.clients.change(world.workspace.id, ClientId.make(client.id), (stored) => ({
        ...stored,
        madeBy: "owner"
      }))
      expect(listsOf((yield* asking("profile api")).body)).toEqual({ permissions: ["api"] })
      expect(returned(yield* asking("profile")).get("error")).toBe("invalid_scope")
    }))
})
