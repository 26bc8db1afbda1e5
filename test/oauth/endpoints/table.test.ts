import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { algorithms } from "../../../core/rules/Jwk.ts"
import { signInScopes } from "../../../core/rules/Scope.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import { bearing, header, jsonOf, registerClient, signInToApp, text, tokenRequest } from "../../given/flow.ts"
import { signsIn } from "../../given/openId.ts"
import { inWorld, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"

const { issuer } = theWorkspace

/** A server that does all there is. */
const whole = (): WorldOptions => ({ ...signsIn, documents: new DocumentsWeb().layer() })

describe("the table of endpoints", () => {
  const rows = [
    "GET /.well-known/oauth-authorization-server suffix oauth, any origin, storeless",
    "GET /.well-known/openid-configuration suffix oauth, any origin, storeless",
    "GET /.well-known/oauth-protected-resource suffix oauth, any origin, storeless",
    "GET /oauth/jwks exact oauth, any origin",
    "GET /openapi.json exact oauth, any origin, storeless",
    "POST /oauth/register exact oauth, any origin",
    "GET PUT DELETE /oauth/register below bearer, any origin",
    "POST /oauth/par exact oauth, any origin",
    "POST /oauth/device_authorization exact oauth, any origin",
    "GET POST /oauth/authorize exact page",
    "POST /oauth/token exact oauth, any origin",
    "POST /oauth/revoke exact oauth, any origin",
    "POST /oauth/introspect exact oauth",
    "GET POST /oauth/userinfo exact bearer, any origin, openid profile",
    "GET POST /oauth/logout exact page",
    "GET /rest/companies exact bearer, any origin, api",
    "GET POST /consent exact page",
    "GET POST /device exact page",
    "GET /device/code exact page, storeless",
    "GET /healthz exact oauth, storeless",
    "GET /readyz exact oauth"
  ]

  const written = ({ routes }: World): ReadonlyArray<string> =>
    routes.map(({ cors, errors, match, methods, path, scopes, storeless }) => {
      const more = [cors === true && "any origin", storeless === true && "storeless", scopes.join(" ")]
      return [`${Object.keys(methods).join(" ")} ${path} ${match} ${errors}`, ...more.filter(Boolean)].join(", ")
    })

  test("has these rows, and answers below none that is exact", () =>
    inWorld(function* (world) {
      expect(written(world)).toEqual(rows)
      for (const { match, methods, path } of world.routes) {
        if (match !== "exact" || path === "/oauth/register" || path === "/device") continue
        for (const method of Object.keys(methods)) {
          expect([path, (yield* world.send(method, `${path}/code`, { as: "alice" })).status]).toEqual([path, 404])
        }
      }
    }, whole()))

  test.each([
    ["signatures", {}, ["/oauth/jwks", "/oauth/logout", "/.well-known/openid-configuration"]],
    ["signatures, though people could sign in", { policy: { scopes: signInScopes } }, ["/oauth/jwks", "/oauth/logout"]],
    ["devices", { grants: [] }, ["/device", "/device/code", "/oauth/device_authorization"]]
  ] as const)("lacks what takes %s", (_, options: WorldOptions, paths) =>
    inWorld((world) => {
      const there = new Set(world.routes.map(({ path }) => path))
      expect(paths.filter((path) => there.has(path))).toEqual([])
      return Effect.void
    }, options)
  )
})

describe("the documents of a server that does all there is", () => {
  const methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
  const proofs = ["EdDSA", "Ed25519", "ES256", "PS256"]
  const signs = ["ES256", "RS256", "EdDSA"]

  test("say so", () =>
    inWorld(function* (world) {
      const server = yield* world.send("GET", "/.well-known/oauth-authorization-server")
      expect(jsonOf(server)).toEqual({
        issuer,
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: signs,
        userinfo_signing_alg_values_supported: signs,
        claim_types_supported: ["normal"],
        claims_supported: [
          ...["sub", "auth_time", "acr", "amr", "name", "given_name", "family_name", "middle_name", "nickname"],
          ...["preferred_username", "profile", "picture", "website", "gender", "birthdate", "zoneinfo", "locale"],
          ...["updated_at", "email", "email_verified", "address", "phone_number", "phone_number_verified"]
        ],
        claims_parameter_supported: true,
        request_uri_parameter_supported: false,
        protected_resources: [issuer],
        jwks_uri: `${issuer}/oauth/jwks`,
        registration_endpoint: `${issuer}/oauth/register`,
        pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
        require_pushed_authorization_requests: false,
        require_signed_request_object: false,
        request_object_signing_alg_values_supported: [...algorithms],
        device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
        authorization_endpoint: `${issuer}/oauth/authorize`,
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        prompt_values_supported: ["none", "login", "consent", "select_account"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        token_endpoint: `${issuer}/oauth/token`,
        grant_types_supported: [
          "authorization_code",
          "refresh_token",
          "client_credentials",
          "urn:ietf:params:oauth:grant-type:device_code",
          "urn:ietf:params:oauth:grant-type:token-exchange",
          "urn:ietf:params:oauth:grant-type:jwt-bearer"
        ],
        authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
        token_endpoint_auth_methods_supported: [...methods, "none"],
        token_endpoint_auth_signing_alg_values_supported: [...algorithms],
        dpop_signing_alg_values_supported: proofs,
        revocation_endpoint: `${issuer}/oauth/revoke`,
        revocation_endpoint_auth_methods_supported: [...methods, "none"],
        revocation_endpoint_auth_signing_alg_values_supported: [...algorithms],
        introspection_endpoint: `${issuer}/oauth/introspect`,
        introspection_endpoint_auth_methods_supported: [...methods, "Bearer"],
        introspection_endpoint_auth_signing_alg_values_supported: [...algorithms],
        userinfo_endpoint: `${issuer}/oauth/userinfo`,
        end_session_endpoint: `${issuer}/oauth/logout`,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        scopes_supported: ["api", "profile", "openid", "email", "address", "phone", "offline_access"]
      })
      expect((yield* world.send("GET", "/.well-known/openid-configuration")).body).toBe(server.body)
      expect(jsonOf(yield* world.send("GET", "/.well-known/oauth-protected-resource"))).toEqual({
        resource: issuer,
        authorization_servers: [issuer],
        scopes_supported: ["api", "profile"],
        bearer_methods_supported: ["header"],
        dpop_signing_alg_values_supported: proofs,
        resource_name: theWorkspace.name
      })
    }, whole()))

  test("name no method and no algorithm that every client is refused with", () =>
    inWorld(
      function* (world) {
        const server = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        const algs = ["PS256", "ES256", "EdDSA", "Ed25519"]
        const lists = Object.entries(server).filter(([name]) => /_(?:methods|alg_values)_supported$/.test(name))
        expect(Object.fromEntries(lists)).toEqual({
          id_token_signing_alg_values_supported: ["ES256", "EdDSA"],
          userinfo_signing_alg_values_supported: ["ES256", "EdDSA"],
          request_object_signing_alg_values_supported: algs,
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["private_key_jwt"],
          token_endpoint_auth_signing_alg_values_supported: algs,
          dpop_signing_alg_values_supported: proofs,
          revocation_endpoint_auth_methods_supported: ["private_key_jwt"],
          revocation_endpoint_auth_signing_alg_values_supported: algs,
          introspection_endpoint_auth_methods_supported: ["private_key_jwt", "Bearer"],
          introspection_endpoint_auth_signing_alg_values_supported: algs
        })
        expect(jsonOf(yield* world.send("GET", "/.well-known/openid-configuration"))).toEqual(server)
        const { components } = jsonOf(yield* world.send("GET", "/openapi.json")) as {
          readonly components: Readonly<Record<"schemas" | "securitySchemes", Readonly<Record<string, unknown>>>>
        }
        expect(Object.keys(components.securitySchemes)).not.toContain("clientSecret")
        for (const name of ["RegisterClient", "UpdateClient"]) {
          const asked = JSON.stringify(components.schemas[name])
          for (const alg of algs) expect([name, asked.includes(`"${alg}"`)]).toEqual([name, true])
          for (const word of ["RS256", "client_secret_", '"none"']) {
            expect([name, word, asked.includes(word)]).toEqual([name, word, false])
          }
        }
      },
      { ...signsIn, policy: { ...signsIn.policy, profile: "fapi2" } }
    ))

  test("say where every client has to push, and to bind", () =>
    inWorld(
      function* (world) {
        const server = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(server.require_pushed_authorization_requests).toBe(true)
        const resource = jsonOf(yield* world.send("GET", "/.well-known/oauth-protected-resource"))
        expect(resource.dpop_bound_access_tokens_required).toBe(true)
      },
      { ...signsIn, policy: { ...signsIn.policy, profile: "fapi2" } }
    ))
})

describe("the example resource", () => {
  test("says who is calling, to that caller alone", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const key = yield* world.services.grants.createKey(theWorkspace.id, { name: "k", expiresAt: null })
      const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" }))
      for (const [token, as] of [
        [(yield* signInToApp(world, client)).access, { kind: "user", user: "alice" }],
        [text(machine.access_token), { kind: "workspace" }],
        [world.reveal(key.text), { kind: "api_key" }]
      ] as const) {
        const answer = yield* world.send("GET", "/rest/companies", { headers: bearing(token) })
        expect([answer.status, header(answer, "cache-control"), jsonOf(answer)]).toEqual([
          200,
          "no-store",
          {
            data: [
              { id: "1", name: "Acme", domain: "acme.example" },
              { id: "2", name: "Globex", domain: "globex.example" }
            ],
            as
          }
        ])
      }
    }))
})

describe("health", () => {
  test("is told of the process, and of the store", () =>
    inWorld(function* (world) {
      const told = Effect.fnUntraced(function* (path: string) {
        const answer = yield* world.send("GET", path)
        return [answer.status, header(answer, "cache-control"), jsonOf(answer).status ?? jsonOf(answer).error]
      })
      expect(yield* told("/healthz")).toEqual([200, "no-store", "ok"])
      expect(yield* told("/readyz")).toEqual([200, "no-store", "ready"])
      for (const call of ["get limit", "insert limit", "replace limit"] as const) world.away.add(call)
      expect(yield* told("/healthz")).toEqual([200, "no-store", "ok"])
    }))
})
