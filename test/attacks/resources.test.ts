import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { ResourceRegistry } from "../../core/rules/Resource.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  bearing,
  codeFor,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { inWorld, type Steps, theWorkspace, type World } from "../given/World.ts"

const { issuer } = theWorkspace
const api = "https://api.example.com/rest"
const mcp = "https://mcp.example.com"

const workspace: Workspace = {
  ...theWorkspace,
  resources: Schema.decodeUnknownSync(ResourceRegistry)([
    { at: api, name: "API" },
    { at: mcp, name: "Tools" }
  ])
}

const attacked = <A>(body: (world: World) => Steps<A>) => inWorld(body, { resolve: () => workspace })

/** Names that are to be taken for a resource's, and are none. */
const impostors: ReadonlyArray<readonly [how: string, resource: string]> = [
  ["a sibling prefix", "https://api.example.com/rest-other"],
  ["a sibling prefix with a dot", "https://api.example.com/rest.other"],
  ["the path above", "https://api.example.com"],
  ["the path above, with its slash", "https://api.example.com/"],
  ["dot segments", "https://api.example.com/rest/../admin"],
  ["escaped dot segments", "https://api.example.com/rest/%2e%2e/admin"],
  ["dot segments, half escaped", "https://api.example.com/rest/.%2E/admin"],
  ["dot segments to the root", "https://api.example.com/rest/../../.."],
  ["an escaped slash", "https://api.example.com/rest%2Fadmin"],
  ["an escaped slash in lower case", "https://api.example.com/rest%2fadmin"],
  ["an escaped letter", "https://api.example.com/res%74"],
  ["two slashes", "https://api.example.com//rest"],
  ["a path in another case", "https://api.example.com/REST"],
  ["another port", "https://api.example.com:8443/rest"],
  ["the port of http", "https://api.example.com:80/rest"],
  ["no TLS", "http://api.example.com/rest"],
  ["another scheme", "ftp://api.example.com/rest"],
  ["userinfo", "https://ada@api.example.com/rest"],
  ["userinfo with a word", "https://ada:word@api.example.com/rest"],
  ["the host as userinfo", "https://api.example.com@evil.example/rest"],
  ["a longer host", "https://api.example.com.evil.example/rest"],
  ["a host before it", "https://evil-api.example.com/rest"],
  ["a dot behind the host", "https://api.example.com./rest"],
  ["the address in a path", "https://evil.example/https://api.example.com/rest"],
  ["a query", "https://api.example.com/rest?a"],
  ["an empty query", "https://api.example.com/rest?"],
  ["a fragment", "https://api.example.com/rest#a"],
  ["an empty fragment", "https://api.example.com/rest#"],
  ["a backslash", "https://api.example.com\\rest"],
  ["a backslash before the host", "https://evil.example\\@api.example.com/rest"],
  ["a space before", " https://api.example.com/rest"],
  ["two in one", "https://api.example.com/rest https://mcp.example.com"],
  ["a tab inside", "https://api.example.com/re\tst"],
  ["a line behind", "https://api.example.com/rest\r\n"],
  ["a letter that looks alike", "https://api.ex\u0430mple.com/rest"],
  ["full width", "https://api\uff0eexample.com/rest"],
  ["no scheme", "api.example.com/rest"],
  ["no host", "/rest"],
  ["a path of the issuer that is not listed", `${issuer}/rest`],
  ["another workspace's issuer", "https://other.example.com"],
  ["a star", "*"],
  ["a name", "rest"],
  ["null", "null"],
  ["much", `https://api.example.com/rest/${"a".repeat(3000)}`]
]

describe("a name that is to be taken for a resource's", () => {
  test.each(impostors)("%s is none at authorize nor at the token endpoint, alone or among good ones", (_, resource) =>
    attacked(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const code = yield* codeFor(world, client, { resource: [api, mcp] })
      for (const asked of [resource, [api, resource], [resource, mcp]]) {
        const page = yield* world.send("GET", authorizeTarget(client, { resource: asked }), { as: "alice" })
        expect(page.body).not.toContain('name="decision"')
        for (const answer of [
          yield* tokenRequest(world, client, { grant_type: "client_credentials", resource: asked }),
          yield* redeem(world, client, code, { resource: asked })
        ]) {
          expect([answer.status, jsonOf(answer).error]).toEqual([400, "invalid_target"])
        }
      }
      // The code is as good as before.
      const tokens = tokensOf(yield* redeem(world, client, code, { resource: api }))
      const wider = yield* refresh(world, client, tokens.refresh, { resource })
      expect([wider.status, jsonOf(wider).error]).toEqual([400, "invalid_target"])
    })
  )
})

describe("a token of one resource", () => {
  test.each([
    [api, "/", mcp],
    [mcp, "/rest", api],
    [api, "/rest-other", api],
    [api, "/rest/../admin", api],
    [api, "/rest/%2e%2e/admin", api],
    [api, "/rest%2Fadmin", api],
    [api, "//evil.example/rest", api],
    [api, "/REST", api],
    [api, "/rest", issuer],
    [mcp, "/oauth/userinfo", issuer],
    [issuer, "/rest", api],
    [issuer, "/", mcp]
  ])("for %s opens nothing at %s of %s", (resource, path, guarded) =>
    attacked(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client, { resource })
      const { access } = tokensOf(yield* redeem(world, client, code))
      const needs = { scopes: [], ...(guarded === issuer ? {} : { resource: guarded }) }
      const checked = yield* world.guard(path, needs, bearing(access))
      expect(checked._tag === "Refused" && checked.response.status).toBe(401)
    })
  )
})
