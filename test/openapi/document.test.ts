import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Effect, Redacted, Result, Schema } from "effect"
import { checkRegistration } from "../../core/client/RegistrationRequest.ts"
import { json } from "../../core/http/answer.ts"
import type { HeaderPairs } from "../../core/http/Http.ts"
import { bound, type Contract, type Endpoint, type Handler, page } from "../../core/http/Route.ts"
import { none } from "../../core/oauth/clients/none.ts"
import { apiKey } from "../../core/oauth/presented/apiKey.ts"
import { bearer } from "../../core/oauth/presented/bearer.ts"
import { openApiDocument } from "../../core/openapi/openApiDocument.ts"
import { signInEndpoints } from "../../core/people/signInEndpoints.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ScopeName, ScopeRegistry, signInScopes } from "../../core/rules/Scope.ts"
import { accountSettingsEndpoints } from "../../core/settings/accountSettingsEndpoints.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { header, jsonOf, postRegistration } from "../given/flow.ts"
import { inWorld, realSignatures, theWorkspace, type World, type WorldOptions } from "../given/World.ts"
import { type JsonSchema, readDocument, variantsOf } from "./Document.ts"
import { bodyOf } from "./drawRequest.ts"
import { makeJudge } from "./Judge.ts"
import { documentOutline, outlineFile } from "./outline.ts"

const documentOf = (world: World, target = "/openapi.json", host?: string) =>
  Effect.map(world.send("GET", target, host === undefined ? {} : { host }), jsonOf)

/** Compiles the schema that the OpenAPI Initiative publishes when it is first asked, and is not ours. */
const validator = new Validator()

const faultsOf = (document: Record<string, unknown>) =>
  Effect.map(
    Effect.promise(() => validator.validate(structuredClone(document))),
    ({ errors, valid }) => (valid ? [] : (errors ?? "not valid"))
  )

const nested = { id: WorkspaceId.make("nested"), issuer: Issuer.make("https://shared.example/t/a"), name: "Nested" }
const otherScopes = ScopeRegistry.make([
  { name: ScopeName.make("read"), meaning: "Read", needsUser: false, byDefault: true },
  { name: ScopeName.make("me"), meaning: "Know you", needsUser: true, byDefault: false }
])

const configurations: Readonly<Record<string, WorldOptions>> = {
  "as it comes": {},
  "with registration closed": { registration: RegistrationPolicy.layerClosed },
  "with a registration token": { registration: RegistrationPolicy.layerToken(Redacted.make("0123456789abcdef")) },
  "with an issuer that has a path": { workspaces: [nested] },
  "with other scopes": { policy: { scopes: otherScopes } }
}

/** The methods of a document, as `get /path`. */
const operationsOf = (document: Record<string, unknown>): ReadonlyArray<string> =>
  Object.entries(Object(document.paths)).flatMap(([path, item]) =>
    Object.keys(Object(item))
      .filter((name) => /^(?:get|put|post|delete)$/.test(name))
      .map((method) => `${method} ${path}`)
  )

describe("the OpenAPI document", () => {
  for (const [name, options] of Object.entries(configurations)) {
    test(`is valid ${name}`, () =>
      inWorld(function* (world) {
        const target = options.workspaces === undefined ? "/openapi.json" : "/t/a/openapi.json"
        const document = yield* documentOf(world, target, "shared.example")
        expect(document.openapi).toMatch(/^3\.1\./)
        expect(yield* faultsOf(document)).toEqual([])
      }, options))
  }

  test("has changed in nothing but its sentences", async () => {
    const renew = "The OpenAPI document has changed. If that is meant: npm run api, and commit what it writes."
    expect(await documentOutline(), renew).toBe(readFileSync(outlineFile, "utf8"))
  })

  test("would not be valid with a mistake in it", () =>
    inWorld(function* (world) {
      const { info: _, ...nameless } = yield* documentOf(world)
      expect(yield* faultsOf(nameless)).not.toEqual([])
    }))

  test("may be read by any origin, and kept for a while", () =>
    inWorld(function* (world) {
      const response = yield* world.send("GET", "/openapi.json")
      expect(response.status).toBe(200)
      expect(header(response, "content-type")).toBe("application/json")
      expect(header(response, "cache-control")).toBe("public, max-age=300")
      expect(header(response, "access-control-allow-origin")).toBe("*")
    }))

  test("has every line of the table of routes but the pages, and no other", () =>
    inWorld(function* (world) {
      // What draws pages needs no accounts to be looked at.
      const accounts = Object.create(null)
      const pages = [...signInEndpoints(accounts), ...accountSettingsEndpoints(accounts), ...settingsEndpoints()]
      const document = yield* documentOf(world)
      const expected = [...pages, ...world.services.endpoints]
        .filter(({ errors, path }) => errors !== "page" || path === "/oauth/authorize")
        .flatMap((route) =>
          Object.keys(route.methods).flatMap((method) => {
            const below = route.path === "/oauth/register" ? "client_id" : "resource_path"
            const at = `${method.toLowerCase()} ${route.path}`
            if (route.match === "exact") return [at]
            return route.match === "below" ? [`${at}/{${below}}`] : [at, `${at}/{${below}}`]
          })
        )
      expect(expected.length).toBeGreaterThan(15)
      expect(operationsOf(document).toSorted()).toEqual(expected.toSorted())
    }))

  test("names every operation once, and every schema where one is used", () =>
    inWorld(function* (world) {
      const text = JSON.stringify(yield* documentOf(world))
      const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(ids).size).toBe(ids.length)
      const { components } = JSON.parse(text)
      for (const [, kind = "", name = ""] of text.matchAll(/"#\/components\/([a-z]+)\/([^"]+)"/gi)) {
        expect(components[kind]).toHaveProperty([name])
      }
    }))

  test("says of every header, security scheme, operation, parameter of a path and answer what it is", () =>
    inWorld(function* (world) {
      const { components, info, paths } = Object(yield* documentOf(world))
      const operations = Object.values(paths).flatMap((item) =>
        Object.entries(Object(item)).flatMap(([method, operation]) => (method === "servers" ? [] : [Object(operation)]))
      )
      const described: ReadonlyArray<unknown> = [
        info,
        // An unknown header stands as it was sent, and nothing is said of it.
        ...Object.entries(components.headers).flatMap(([name, said]) => (/^[A-Z]/.test(name) ? [said] : [])),
        ...Object.values(components.securitySchemes),
        ...operations.flatMap(({ responses }) => Object.values(responses)),
        ...operations.flatMap(({ parameters = [] }) => parameters).filter((parameter) => parameter.in === "path")
      ]
      expect(described.length).toBeGreaterThan(50)
      for (const one of described) expect(Object(one).description).toMatch(/^[A-Z].+\.$/s)
      // Of each refusal its own, by the status.
      const { responses } = operations.find(({ operationId }) => operationId === "token")
      const told = Object.values(responses).map((response) => Object(response).description)
      expect(told.length).toBeGreaterThan(5)
      expect(new Set(told).size).toBe(told.length)
      for (const { summary } of operations) expect(summary).toMatch(/^[A-Z]/)
    }))
})

/** Every `pattern` of the document. */
const patternsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === "pattern" && typeof member === "string" ? [member] : patternsIn(member)
  )
}

/** Each code unit alone and behind others, and pairs that are whole, turned round and cut. */
const texts = [
  "",
  ...Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)),
  ...Array.from({ length: 0x400 }, (_, index) => `a${String.fromCharCode(index)} \u{1f600}`),
  ...["\ud83d\ude00", "\ude00\ud83d", "a\ud83d", "\ud83da", "\udbff\udfff", "\u{10ffff}\ud800", "\u{1f600}\u0085"]
]

describe("the patterns of the OpenAPI document", () => {
  test("are read alike by tools that know flags and properties, and by those that do not", () =>
    inWorld(function* (world) {
      const patterns = new Set(patternsIn(yield* documentOf(world)))
      expect(patterns.size).toBeGreaterThan(2)
      for (const text of patterns) {
        // Properties, named groups, looking around, code points in braces, surrogates: what some dialect lacks.
        expect(text).not.toMatch(/\\[pPkuU]\{|\(\?(?!:)|\\u[dD][89a-fA-F]/)
        const [plain, unicode] = [new RegExp(text), new RegExp(text, "u")]
        expect(texts.filter((one) => plain.test(one) !== unicode.test(one))).toEqual([])
      }
    }))

  test("let pass what registration takes, and nothing else that is a text", () =>
    inWorld(function* (world) {
      const { components } = yield* documentOf(world)
      const [pattern = ""] = patternsIn(Object(components).schemas.RegisterClient.properties.client_name)
      const said = new RegExp(pattern)
      const taken = (client_name: string) => Result.isSuccess(checkRegistration(world.services, { client_name }))
      // Half a pair of surrogates is no text in UTF-8, and no pattern that every tool reads can say so.
      expect(texts.filter((one) => taken(one) !== (said.test(one) && !/\p{Cs}/u.test(one)))).toEqual([])
    }))
})

test("an answer that may come without a body promises none to tools that know OpenAPI alone", () =>
  inWorld(function* (world) {
    const { paths } = yield* documentOf(world)
    const refused = Object(paths)["/rest/companies"].get.responses["401"]
    expect(refused).not.toHaveProperty("content")
    expect(refused["x-content-if-any"]).toHaveProperty(["application/json"])
    expect((yield* world.send("GET", "/rest/companies")).body).toBe("")
  }))

describe("what the OpenAPI document calls valid is not refused as a request:", () => {
  const operation = (world: World, id: string) =>
    Effect.map(world.send("GET", "/openapi.json"), ({ body }) => {
      const document = readDocument(String(body))
      const found = document.operations.find(({ operationId }) => operationId === id)
      if (found === undefined) throw new Error(`there is no ${id}`)
      return { document, found, judge: makeJudge(document) }
    })

  test("a parameter that has to come has a value", () =>
    inWorld(function* (world) {
      const { found, judge } = yield* operation(world, "authorize")
      const required = (found.parameters ?? []).filter((parameter) => parameter.required)
      expect(required.map(({ name }) => name)).toContain("client_id")
      for (const { schema } of required) expect(judge.allows(schema, "")).toBe(false)
      expect((yield* world.send("GET", "/oauth/authorize?response_type=code&client_id=&redirect_uri=")).status).toBe(
        400
      )
    }))

  for (const [id, path] of [
    ["introspect", "/oauth/introspect"],
    ["revoke", "/oauth/revoke"],
    ["token", "/oauth/token"]
  ] as const) {
    test(`an unknown parameter comes once, or is refused: ${id}`, () =>
      inWorld(function* (world) {
        const { document, found, judge } = yield* operation(world, id)
        const schema = bodyOf(found)?.[1].schema ?? {}
        const required = (variantsOf(document, schema)[0]?.required ?? []) as ReadonlyArray<string>
        const properties = (variantsOf(document, schema)[0]?.properties ?? {}) as Readonly<Record<string, JsonSchema>>
        const filled = Object.fromEntries(
          required.map((name) => [name, (properties[name]?.enum as ReadonlyArray<string>)?.[0] ?? "a value"])
        )
        const sent = (more: string) =>
          Effect.map(
            world.send("POST", path, {
              headers: { "content-type": "application/x-www-form-urlencoded" },
              body: `${new URLSearchParams(filled)}${more}`
            }),
            (response) => jsonOf(response).error
          )
        expect(judge.allows(schema, { ...filled, x: "1" })).toBe(true)
        expect(yield* sent("&x=1")).toBe("invalid_client")
        expect(judge.allows(schema, { ...filled, x: ["1", "2"] })).toBe(false)
        expect(yield* sent("&x=1&x=2")).toBe("invalid_request")
        for (const name of required) expect(judge.allows(schema, { ...filled, [name]: "" })).toBe(false)
      }))
  }

  for (const workspaceAccess of ["registered", "owner"] as const) {
    test(`a registration that names grant types names one that there is, where workspace access is ${workspaceAccess}`, () =>
      inWorld(
        function* (world) {
          const { found, judge } = yield* operation(world, "registerClient")
          const schema = bodyOf(found)?.[1].schema ?? {}
          const redirect_uris = ["https://app.example.org/callback"]
          const lists = [
            [],
            ["password"],
            ["refresh_token"],
            ["authorization_code"],
            ["client_credentials", "password"]
          ]
          for (const grant_types of lists) {
            const body = { redirect_uris, grant_types }
            const { status } = yield* postRegistration(world, body)
            expect([grant_types, judge.allows(schema, body)]).toEqual([grant_types, status === 201])
          }
        },
        { policy: { workspaceAccess } }
      ))
  }
})

describe("the OpenAPI document follows the configuration:", () => {
  const read = (name: keyof typeof configurations, target?: string, host?: string) =>
    inWorld((world) => documentOf(world, target, host), configurations[name])

  test("a closed registration is not offered", async () => {
    expect(operationsOf(await read("as it comes"))).toContain("post /oauth/register")
    const closed = operationsOf(await read("with registration closed"))
    expect(closed).not.toContain("post /oauth/register")
    expect(closed).toContain("get /oauth/register/{client_id}")
  })

  test("the flows have the scopes of the registry, at real addresses", async () => {
    expect(await read("with other scopes")).toMatchObject({
      components: {
        securitySchemes: {
          oauth2: {
            flows: {
              authorizationCode: {
                authorizationUrl: `${theWorkspace.issuer}/oauth/authorize`,
                tokenUrl: `${theWorkspace.issuer}/oauth/token`,
                refreshUrl: `${theWorkspace.issuer}/oauth/token`,
                scopes: { read: "Read", me: "Know you" }
              },
              clientCredentials: { tokenUrl: `${theWorkspace.issuer}/oauth/token`, scopes: { read: "Read" } }
            }
          }
        }
      }
    })
  })

  test("the server is the issuer, and well-known documents lie where RFC 8414 has them", async () => {
    const document = await read("with an issuer that has a path", "/t/a/openapi.json", "shared.example")
    expect(document.servers).toEqual([{ url: nested.issuer }])
    const paths = Object(document.paths)
    expect(Object.keys(paths)).toContain("/oauth/token")
    for (const name of ["oauth-authorization-server", "oauth-protected-resource"]) {
      expect(paths[`/.well-known/${name}/t/a`]?.servers).toEqual([{ url: "https://shared.example" }])
    }
  })

  test("a route of the host's own stands in it, where it says what it does", () => {
    const contract = {
      id: "orders",
      heading: "Shop",
      summary: "How many orders there are",
      callers: [{ shows: "apiKey" }],
      answers: [{ description: "So many.", like: () => json(200, {}), body: Schema.Struct({ orders: Schema.Int }) }],
      faults: []
    } as const satisfies Contract
    const orders: Handler = () => Effect.succeed(json(200, { orders: 3 }))
    const own: Endpoint = {
      path: "/orders",
      match: "exact",
      methods: { GET: bound(contract, () => () => Effect.succeed(json(200, { orders: 3 }))) },
      errors: "bearer",
      cors: true
    }
    const silent: Endpoint = { ...own, path: "/silent", methods: { GET: page(() => orders) } }
    return inWorld(
      function* (world) {
        const document = yield* documentOf(world)
        expect(yield* faultsOf(document)).toEqual([])
        expect(document).toMatchObject({
          paths: { "/orders": { get: { operationId: "orders", security: [{ apiKey: [] }], tags: ["Shop"] } } }
        })
        expect(document.paths).not.toHaveProperty(["/silent"])
      },
      { endpoints: [own, silent] }
    )
  })

  test("a server with fewer rows says nothing of those that are not there", () =>
    inWorld(
      ({ services, workspace }) =>
        Effect.sync(() => {
          const only = (...names: ReadonlyArray<string>) => ({
            grantTypes: new Map([...services.grantTypes].filter(([name]) => names.includes(name)))
          })
          const without = (...names: ReadonlyArray<string>) => ({
            endpoints: services.endpoints.filter(({ metadata }) => !names.includes(metadata?.name ?? ""))
          })
          const schemes = ["oauth2", "clientSecret", "apiKey", "registrationToken", "initialToken", "dpop"]
          const flows = { authorizationCode: true, clientCredentials: false }
          const rows: ReadonlyArray<
            readonly [more: Partial<typeof services>, flows: object, schemes: ReadonlyArray<string>]
          > = [
            [{}, flows, schemes],
            [only("authorization_code"), { authorizationCode: false }, schemes],
            [only("authorization_code", "refresh_token"), { authorizationCode: true }, schemes],
            [only("refresh_token", "client_credentials"), { clientCredentials: false }, schemes],
            [without("authorization_endpoint"), { clientCredentials: false }, schemes],
            [without("token_endpoint"), {}, schemes],
            [{ clientAuths: new Map([[none.name, none]]) }, flows, schemes.filter((name) => name !== "clientSecret")],
            [{ presentations: [bearer, apiKey] }, flows, schemes.filter((name) => name !== "dpop")]
          ]
          for (const [more, expected, names] of rows) {
            const { components, paths } = openApiDocument({ ...services, ...more }, workspace)
            const { oauth2 } = components.securitySchemes
            const found = Object.entries(oauth2.flows).map(([flow, said]) => [flow, "refreshUrl" in said])
            expect([more, Object.fromEntries(found)]).toEqual([more, expected])
            expect(Object.keys(components.securitySchemes)).toEqual([...names])
            const at = (path: string) => Object(Object(paths)[path]?.post).security
            const isThere = (name: string) => names.includes(name)
            expect(at("/oauth/introspect")).toContainEqual(isThere("clientSecret") ? { clientSecret: [] } : {})
            const beside = isThere("dpop") ? [{ dpop: [] }] : []
            expect(at("/oauth/userinfo")).toEqual([
              { oauth2: ["openid"] },
              ...beside,
              { oauth2: ["profile"] },
              ...beside
            ])
          }
        }),
      { signatures: realSignatures, policy: { scopes: signInScopes } }
    ))

  test("the answers of a host's route are told by their status, with the headers and contents that they have", () => {
    const answer = (status: number, headers: HeaderPairs, body = "") => ({ status, headers, body })
    const contract = {
      id: "order",
      heading: "Shop",
      summary: "An order",
      description: "All of it.",
      query: Schema.Struct({
        since: Schema.optionalKey(Schema.String.annotate({ description: "From when on." })),
        size: Schema.String
      }),
      below: { name: "order", description: "Which.", schema: Schema.String },
      callers: [{ shows: "nothing" }],
      answers: [
        { description: "One.", like: () => json(200, {}, [["x-count", "1"]]), body: Schema.Struct({ a: Schema.Int }) },
        { description: "Printed.", like: () => answer(200, [["content-type", "text/plain; charset=utf-8"]]) },
        { description: "Printed.", like: () => answer(200, [["content-type", "text/plain"]]) },
        { description: "None.", like: () => answer(204, [["cache-control", "no-store"]]) },
        { description: "Some.", like: () => answer(206, []) },
        { description: "More.", like: () => json(206, {}) }
      ],
      faults: []
    } as const satisfies Contract
    const own: Endpoint = {
      path: "/orders",
      match: "below",
      methods: { GET: bound(contract, () => () => Effect.succeed(json(200, {}))) },
      errors: "bearer",
      cors: false
    }
    /** It says of a part of the path what only some addresses have. */
    const at = (
      id: string,
      match: Endpoint["match"],
      { below, ...rest }: Omit<Contract, "below"> & { readonly below?: Contract["below"] | undefined }
    ): Endpoint => ({
      ...own,
      path: `/${id}`,
      match,
      methods: {
        GET: bound(
          { ...rest, id, ...(below === undefined ? {} : { below }) },
          () => () => Effect.succeed(json(200, {}))
        )
      }
    })
    return inWorld(
      function* (world) {
        const document = yield* documentOf(world)
        expect(yield* faultsOf(document)).toEqual([])
        const headers = (...keys: ReadonlyArray<string>) =>
          Object.fromEntries(keys.map((key) => [key.split(".")[0], { $ref: `#/components/headers/${key}` }]))
        const always = ["X-Content-Type-Options.nosniff", "X-Request-Id"]
        const error = (...codes: ReadonlyArray<string>) => ({
          "application/json": {
            schema: { $ref: "#/components/schemas/Error", properties: { error: { enum: codes } } }
          }
        })
        const anOrder = { type: "object", properties: { a: expect.objectContaining({ type: "integer" }) } }
        expect<unknown>(Object(document.paths)["/orders/{order}"]).toEqual({
          get: {
            operationId: "order",
            tags: ["Shop"],
            summary: "An order",
            description: "All of it.",
            parameters: [
              { name: "order", in: "path", description: "Which.", required: true, schema: { type: "string" } },
              {
                name: "since",
                in: "query",
                description: "From when on.",
                required: false,
                schema: { type: "string" }
              },
              { name: "size", in: "query", required: true, schema: { type: "string", minLength: 1 } }
            ],
            security: [{}],
            responses: {
              200: {
                description: "One. Printed.",
                headers: headers("x-count.sometimes", ...always),
                content: {
                  "application/json": { schema: { ...anOrder, required: ["a"], additionalProperties: true } },
                  "text/plain": { schema: { type: "string" } }
                }
              },
              204: { description: "None.", headers: headers("Cache-Control.no-store", ...always) },
              206: {
                description: expect.stringMatching(/^Some\. More\. ./),
                headers: headers(...always),
                "x-content-if-any": error()
              },
              // Before the core has seen the request, and so for any origin.
              503: {
                description: expect.stringMatching(/./),
                headers: headers(
                  ...["Cache-Control.no-store", "Pragma.no-cache", "Retry-After", "X-Request-Id"],
                  ...["Access-Control-Allow-Origin", "Access-Control-Expose-Headers"]
                ),
                content: error("temporarily_unavailable")
              }
            }
          }
        })
        const ofHost = Object.keys(Object(document.paths)).filter((path) => /^\/(?:orders|exact|suffix)/.test(path))
        expect(ofHost.toSorted()).toEqual(["/exact", "/orders/{order}", "/suffix", "/suffix/{order}", "/suffixAlone"])
        expect(Object(document.components).headers["x-count.sometimes"]).toEqual({
          required: false,
          schema: { type: "string" }
        })
      },
      {
        endpoints: [
          own,
          at("exact", "exact", contract),
          at("suffix", "suffix", contract),
          at("suffixAlone", "suffix", { ...contract, below: undefined })
        ]
      }
    )
  })
})
