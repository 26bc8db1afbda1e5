import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { addResource } from "../../core/engine/administerWorkspace.ts"
import { shownMost } from "../../core/engine/lists.ts"
import { UserId } from "../../core/rules/Id.ts"
import { ResourceAddress, type ResourceDefinition } from "../../core/rules/Resource.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { byOwner } from "../given/auditContext.ts"
import { header, hiddenFields, jsonOf, registerClient, tokenRequest } from "../given/flow.ts"
import { emptyList, fieldProblems, noticeOn, typedOn } from "../given/page.ts"
import { theWorkspace, type World } from "../given/World.ts"
import { allPages, follow, inSettings, look, post } from "./given.ts"

const orders = "https://orders.example.com/v1"
const configured: ResourceDefinition = { at: ResourceAddress.make("https://tools.example.com"), name: "Tools" }
const withTools: Workspace = { ...theWorkspace, resources: [configured] }

const add = (world: World, fields: Readonly<Record<string, string>> = {}, as = "owner") =>
  post(world, as, "resources", { action: "add", at: orders, name: "", ...fields })

const shown = ({ body }: { readonly body: string }) =>
  [...body.matchAll(/<p class="hint"><code>(https:[^<]*)<\/code>/g)].map(([, at = ""]) => at)

const changes = (world: World) => world.audit.flatMap(({ event }) => (event._tag.startsWith("Resource") ? [event] : []))

describe("the APIs of a workspace", () => {
  test("one that an owner adds takes tokens at once, and none that are new once it is removed", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"], redirect_uris: [] })
      const asked = Effect.map(
        tokenRequest(world, client, { grant_type: "client_credentials", resource: orders }),
        (answer) => [answer.status, jsonOf(answer).error]
      )
      expect(emptyList(yield* look(world, "owner", "resources"))).toBe("none")
      expect(yield* asked).toEqual([400, "invalid_target"])
      const answer = yield* add(world, { name: "  Orders\u202e ", "scope.api": "yes" })
      expect(header(answer, "location")).toBe("/settings/resources?done=resource-added")
      const page = yield* follow(world, "owner", answer)
      expect([noticeOn(page), shown(page)]).toEqual(["done", [orders]])
      expect(page.body).toContain("<bdi>Orders</bdi>")
      expect(page.body).toContain("<dd><code>api</code></dd>")
      expect(yield* asked).toEqual([200, undefined])

      const removed = yield* post(world, "owner", "resources", { action: "remove", at: orders })
      expect(noticeOn(yield* follow(world, "owner", removed))).toBe("done")
      expect(yield* asked).toEqual([400, "invalid_target"])
      const again = yield* post(world, "owner", "resources", { action: "remove", at: orders })
      expect(header(again, "location")).toBe("/settings/resources?done=resource-gone")
      const by = UserId.make("owner")
      expect(changes(world)).toEqual([
        { _tag: "ResourceAdded", resource: orders, by },
        { _tag: "ResourceRemoved", resource: orders, by }
      ])
    }))

  test("what is configured is shown, and no form removes it or lists it again", () =>
    inSettings(
      function* (world) {
        const page = yield* look(world, "owner", "resources")
        expect(shown(page)).toEqual([configured.at])
        expect(page.body).not.toContain('value="remove"')
        yield* add(world)
        const both = yield* look(world, "owner", "resources")
        expect(shown(both)).toEqual([configured.at, orders])
        expect(hiddenFields(both.body.split('value="remove"')[1] ?? "")).toEqual({ at: orders })
        expect(both.body.split('value="remove"')).toHaveLength(2)
        yield* post(world, "owner", "resources", { action: "remove", at: orders })
        world.audit.length = 0
        const removed = yield* post(world, "owner", "resources", { action: "remove", at: configured.at })
        expect(header(removed, "location")).toBe("/settings/resources?done=resource-gone")
        const twice = yield* add(world, { at: `${configured.at}/` })
        expect([twice.status, fieldProblems(twice)]).toEqual([400, ["at"]])
        expect(shown(yield* look(world, "owner", "resources"))).toEqual([configured.at])
        expect(changes(world)).toEqual([])
      },
      { workspaces: [withTools], resolve: () => withTools }
    ))

  test("a form that cannot be comes back as it was typed", () =>
    inSettings(function* (world) {
      const wrong: ReadonlyArray<readonly [Readonly<Record<string, string>>, "at" | "name"]> = [
        [{ at: "" }, "at"],
        [{ at: "orders.example.com" }, "at"],
        [{ at: "http://orders.example.com" }, "at"],
        [{ at: "https://ada@orders.example.com" }, "at"],
        [{ at: `${orders}?a=1` }, "at"],
        [{ at: `${orders}/../v2` }, "at"],
        [{ at: "javascript:alert(1)" }, "at"],
        [{ at: `https://example.com/${"a".repeat(9000)}` }, "at"],
        [{ name: "\u200b\u202e" }, "name"]
      ]
      for (const [fields, problem] of wrong) {
        const sent = { at: orders, name: "<b>Orders</b>", tokens: "jwt-5m", "scope.profile": "yes", ...fields }
        const answer = yield* add(world, { ...sent, at: ` ${sent.at} ` })
        expect([fields, answer.status, fieldProblems(answer)]).toEqual([fields, 400, [problem]])
        expect(typedOn(answer)).toEqual({ ...sent, at: sent.at.slice(0, 2048) })
        expect(answer.body).not.toContain("<b>Orders")
        expect(answer.body).not.toContain("a".repeat(2049))
      }
      expect(world.calls.replace).toEqual([])
      expect(changes(world)).toEqual([])
    }))

  test.each([
    ["opaque", undefined, undefined],
    ["jwt", "jwt", undefined],
    ["jwt-5m", "jwt", 300_000],
    ["JWT", undefined, undefined]
  ] as const)("tokens as the owner chose: %s", (tokens, accessTokenFormat, accessTokenTtl) =>
    inSettings(function* (world) {
      const page = yield* follow(world, "owner", yield* add(world, { tokens }))
      expect(page.body.includes("<dd>JWTs")).toBe(accessTokenFormat === "jwt")
      const { listed = [] } = yield* world.services.openings.open(world.workspace)
      expect(listed.map((one) => [one.accessTokenFormat, one.accessTokenTtl])).toEqual([
        [accessTokenFormat, accessTokenTtl]
      ])
      const wrong = yield* add(world, { at: "", tokens })
      expect(wrong.body.includes('value="jwt" selected')).toBe(tokens === "jwt")
    })
  )

  test("scopes that there are not are none that it takes", () =>
    inSettings(function* (world) {
      const answer = yield* add(world, { "scope.api": "yes", "scope.unheard": "yes", "scope.profile": "no" })
      expect((yield* follow(world, "owner", answer)).body).toContain("<dd><code>api</code></dd>")
    }))

  test("of 60, every one is on one page and on one only, also where one is removed meanwhile", () =>
    inSettings(function* (world) {
      const addresses = Array.from({ length: 60 }, (_, n) => `https://n${n}.example.com/a&b`)
      const workspace = yield* world.services.openings.open(world.workspace)
      for (const at of addresses) {
        yield* addResource(world.services, byOwner(world), workspace, { at, name: "", scopes: [] })
      }
      const pages = yield* allPages(world, "owner", "resources")
      // The first page begins the list, and the others lead back to it.
      expect(pages.map(({ body }) => body.includes('href="/settings/resources">Back'))).toEqual([false, true, true])
      expect(pages.map((page) => shown(page).length)).toEqual([shownMost, shownMost, 10])
      expect(pages.flatMap(shown)).toEqual(addresses.map((at) => at.replace("&", "&amp;")))
      for (const at of addresses.slice(0, 10)) {
        yield* post(world, "owner", "resources", { action: "remove", at })
      }
      // Two whole pages are two pages.
      expect((yield* allPages(world, "owner", "resources")).map((page) => shown(page).length)).toEqual([25, 25])
      yield* post(world, "owner", "resources", { action: "remove", at: addresses[24] ?? "" })
      const gone = yield* look(world, "owner", "resources", `?after=${encodeURIComponent(addresses[24] ?? "")}`)
      expect(shown(gone)[0]).toBe("https://n10.example.com/a&amp;b")
    }))

  test("a list that another process changed is shown once it was read again", () =>
    inSettings(function* (world) {
      const elsewhere = yield* world.elsewhere
      yield* elsewhere.services.openings.open(world.workspace)
      yield* add(elsewhere)
      expect(shown(yield* look(elsewhere, "owner", "resources"))).toEqual([orders])
      // Two who add the same: the second is told so, though it did not know.
      const late = yield* add(world)
      expect([late.status, fieldProblems(late)]).toEqual([400, ["at"]])
      expect(shown(late)).toEqual([orders])
    }))
})
