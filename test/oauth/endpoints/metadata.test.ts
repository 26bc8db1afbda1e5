import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { grantTypes } from "../../../core/oauth/grants/table.ts"
import { ResourceRegistry } from "../../../core/rules/Resource.ts"
import { ScopeName, ScopeRegistry } from "../../../core/rules/Scope.ts"
import { Issuer, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { header, jsonOf } from "../../given/flow.ts"
import { inWorld, theWorkspace } from "../../given/World.ts"

const issuer = theWorkspace.issuer
const server = "/.well-known/oauth-authorization-server"
const resource = "/.well-known/oauth-protected-resource"
const methods = ["client_secret_basic", "client_secret_post", "none"]

describe("authorization server metadata (RFC 8414)", () => {
  test("says what is wired in", () =>
    inWorld(function* (world) {
      const response = yield* world.send("GET", server)
      expect(response.status).toBe(200)
      expect(header(response, "content-type")).toBe("application/json")
      expect(header(response, "cache-control")).toBe("public, max-age=300")
      expect(jsonOf(response)).toEqual({
        issuer,
        registration_endpoint: `${issuer}/oauth/register`,
        pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
        device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
        authorization_endpoint: `${issuer}/oauth/authorize`,
        token_endpoint: `${issuer}/oauth/token`,
        revocation_endpoint: `${issuer}/oauth/revoke`,
        introspection_endpoint: `${issuer}/oauth/introspect`,
        userinfo_endpoint: `${issuer}/oauth/userinfo`,
        scopes_supported: ["api", "profile", "offline_access"],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: grantTypes.filter(({ signs }) => signs !== true).map(({ name }) => name),
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        introspection_endpoint_auth_methods_supported: [...methods.filter((name) => name !== "none"), "Bearer"],
        prompt_values_supported: ["none", "login", "consent", "select_account"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        require_pushed_authorization_requests: false,
        request_uri_parameter_supported: false,
        protected_resources: [issuer]
      })
    }))

  test("is the same document behind any suffix, and time after time", () =>
    inWorld(function* (world) {
      const { body } = yield* world.send("GET", server)
      for (const path of [server, `${server}/`, `${server}/rest`, `${server}/a/b`]) {
        expect((yield* world.send("GET", path)).body).toBe(body)
      }
      expect((yield* world.send("GET", `${server}x`)).status).toBe(404)
    }))

  test("names each endpoint at an address that answers", () =>
    inWorld(function* (world) {
      const document = jsonOf(yield* world.send("GET", server))
      const endpoints = Object.entries(document).filter(([name]) => name.endsWith("_endpoint"))
      expect(endpoints.length).toBeGreaterThan(5)
      for (const [, address] of endpoints) {
        const response = yield* world.send("OPTIONS", String(address).slice(issuer.length))
        expect([204, 405]).toContain(response.status)
      }
    }))

  test("follows the scopes that are configured, and a route that a host adds", () => {
    const scopes = ScopeRegistry.make([
      { name: ScopeName.make("read"), meaning: "Read", needsUser: false, byDefault: true }
    ])
    return inWorld(
      function* (world) {
        const document = jsonOf(yield* world.send("GET", server))
        expect(document.scopes_supported).toEqual(["read", "offline_access"])
        expect(document.hosts_own_endpoint).toBe(`${issuer}/oauth/own`)
        expect(jsonOf(yield* world.send("GET", resource)).scopes_supported).toEqual(["read"])
      },
      {
        policy: { scopes },
        endpoints: [
          {
            path: "/oauth/own",
            match: "exact",
            methods: {},
            errors: "oauth",
            cors: false,
            metadata: { name: "hosts_own_endpoint" }
          }
        ]
      }
    )
  })
})

describe("protected resource metadata (RFC 9728)", () => {
  test("at the root path names the issuer, behind it that path", () =>
    inWorld(function* (world) {
      for (const [suffix, named] of [
        ["", ""],
        ["/", ""],
        ["/rest", "/rest"],
        ["/rest/companies", "/rest/companies"]
      ]) {
        const response = yield* world.send("GET", resource + suffix)
        expect(response.status).toBe(200)
        expect(header(response, "cache-control")).toBe("public, max-age=300")
        expect(jsonOf(response)).toEqual({
          resource: issuer + named,
          authorization_servers: [issuer],
          scopes_supported: ["api", "profile"],
          bearer_methods_supported: ["header"],
          resource_name: "Example"
        })
      }
    }))
})

describe("an issuer with a path", () => {
  const nested = { id: WorkspaceId.make("nested"), issuer: Issuer.make("https://shared.example/t/a"), name: "Nested" }
  const options = { workspaces: [nested] }
  const host = "shared.example"

  test("has its metadata between host and path, and its endpoints below the path", () =>
    inWorld(function* (world) {
      for (const path of [`${server}/t/a`, `/t/a${server}`, `${server}/t/a/rest`]) {
        const document = jsonOf(yield* world.send("GET", path, { host }))
        expect(document.issuer).toBe(nested.issuer)
        expect(document.token_endpoint).toBe("https://shared.example/t/a/oauth/token")
      }
      expect(jsonOf(yield* world.send("GET", `${resource}/t/a`, { host })).resource).toBe(nested.issuer)
      expect(jsonOf(yield* world.send("GET", `${resource}/t/a/rest`, { host })).resource).toBe(`${nested.issuer}/rest`)
    }, options))

  test("tells its own resource by the very name that was called, slash or none (RFC 9728 §3.3)", async () => {
    const listed = (...at: ReadonlyArray<string>) => ({
      ...nested,
      resources: Schema.decodeUnknownSync(ResourceRegistry)(at.map((at) => ({ at, name: "Own" })))
    })
    for (const workspace of [
      nested,
      listed(`${nested.issuer}/`),
      listed(nested.issuer),
      listed(`${nested.issuer}/x`)
    ]) {
      await inWorld(
        function* (world) {
          for (const [path, name] of [
            [`${resource}/t/a`, nested.issuer],
            [`${resource}/t/a/`, `${nested.issuer}/`],
            [`/t/a${resource}`, nested.issuer],
            [`/t/a${resource}/`, `${nested.issuer}/`]
          ] as const) {
            const document = jsonOf(yield* world.send("GET", path, { host }))
            expect([path, document.resource, document.authorization_servers]).toEqual([path, name, [nested.issuer]])
          }
        },
        { workspaces: [workspace] }
      )
    }
  })

  test("sends a caller without a token to the metadata between host and path", () =>
    inWorld(function* (world) {
      const response = yield* world.send("GET", "/t/a/rest/companies", { host })
      expect([response.status, header(response, "www-authenticate")]).toEqual([
        401,
        `Bearer resource_metadata="https://shared.example${resource}/t/a", scope="api"`
      ])
    }, options))

  test("answers nowhere else", () =>
    inWorld(function* (world) {
      for (const path of ["/", "/oauth/token", server, `${server}/t`, `${server}/t/ab`, "/t/ab/healthz", "/t"]) {
        expect((yield* world.send("GET", path, { host })).status).toBe(404)
      }
      expect((yield* world.send("GET", "/t/a/healthz", { host })).status).toBe(200)
      expect((yield* world.send("GET", "/t/a", { host })).status).toBe(404)
    }, options))
})
