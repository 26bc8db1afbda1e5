import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { json } from "../../core/http/answer.ts"
import { readerOf, sentQuery } from "../../core/http/form.ts"
import { bound, type Contract, type Endpoint, names } from "../../core/http/Route.ts"
import { tokenEndpoint } from "../../core/oauth/endpoints/token.ts"
import { InvalidRequest } from "../../core/rules/Refusal.ts"
import { jsonOf } from "../given/flow.ts"
import { inWorld } from "../given/World.ts"

const contract = {
  id: "greeting",
  heading: "Toys",
  summary: "A greeting",
  query: Schema.Struct({ name: Schema.String }),
  callers: [{ shows: "nothing" }],
  answers: [{ description: "The greeting.", like: () => json(200, {}), body: Schema.Struct({ hello: Schema.String }) }],
  faults: [InvalidRequest]
} as const satisfies Contract

const read = readerOf(contract.query.fields)

/** An endpoint as a host adds one: contract, handler and route are this one value. */
const greeting: Endpoint = {
  path: "/oauth/greeting",
  match: "exact",
  methods: {
    GET: bound(contract, () => (call) => {
      const sent = read(sentQuery(call.request.query).sent)
      return Effect.map(Effect.fromResult(sent), ({ name }) => json(200, { hello: name }))
    })
  },
  errors: "oauth",
  cors: true,
  metadata: { name: "greeting_endpoint", members: { greetings_supported: names(() => ["hello"]) } }
}

describe("an endpoint that is added by a row alone", () => {
  test("answers by its contract", () =>
    inWorld(
      function* (world) {
        expect(jsonOf(yield* world.send("GET", "/oauth/greeting?name=Ada"))).toEqual({ hello: "Ada" })
        const missing = yield* world.send("GET", "/oauth/greeting")
        expect([missing.status, jsonOf(missing).error]).toEqual([400, "invalid_request"])
        expect((yield* world.send("POST", "/oauth/greeting")).status).toBe(405)
      },
      { endpoints: [greeting] }
    ))

  test("stands in the metadata and in the OpenAPI document", () =>
    inWorld(
      function* (world) {
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(metadata.greeting_endpoint).toBe(`${world.workspace.issuer}/oauth/greeting`)
        expect(metadata.greetings_supported).toEqual(["hello"])
        expect(jsonOf(yield* world.send("GET", "/openapi.json"))).toMatchObject({
          paths: { "/oauth/greeting": { get: { operationId: "greeting", tags: ["Toys"] } } },
          components: {
            schemas: { AuthorizationServerMetadata: { properties: { greetings_supported: { type: "array" } } } }
          }
        })
      },
      { endpoints: [greeting] }
    ))

  test("is refused where another row has its path", async () => {
    const twice = inWorld(() => Effect.void, { endpoints: [greeting, greeting] })
    expect(twice).rejects.toMatchObject({ _tag: "DuplicateRow", table: "endpoints", name: "/oauth/greeting" })
    const taken: Endpoint = { ...greeting, path: tokenEndpoint.path }
    expect(inWorld(() => Effect.void, { endpoints: [taken] })).rejects.toMatchObject({ name: "/oauth/token" })
  })
})
