import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { beginsGrant, type GrantTypeModel } from "../../core/testing/model/ownGrant.ts"
import { refused400 } from "../../core/testing/model/Rule.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import {
  bearing,
  form,
  formHeaders,
  jsonOf,
  postRegistration,
  registerClient,
  text,
  tokenRequest
} from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import { voucher } from "./voucher.ts"

const grants = [...grantTypes, voucher]
const used = { grant_type: voucher.name, voucher: "voucher-of-ada" }
const inShop = <A, E>(body: (world: World) => Effect.Effect<A, E>) => inWorld(body, { grants })

describe("a grant type that is added by a row alone", () => {
  test("gives tokens at the token endpoint, which are refreshed and checked like any other", () =>
    inShop((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { redirect_uris: [], grant_types: [voucher.name] })
        const first = yield* tokenRequest(world, client, used)
        expect([first.status, jsonOf(first).scope]).toEqual([200, "api profile"])
        const refresh_token = text(jsonOf(first).refresh_token)
        const next = yield* tokenRequest(world, client, { grant_type: "refresh_token", refresh_token })
        const told = yield* world.send("GET", "/oauth/userinfo", {
          headers: bearing(text(jsonOf(next).access_token))
        })
        expect(jsonOf(told)).toMatchObject({ sub: "ada" })
        expect(world.audit.map(({ event }) => event)).toContainEqual(
          expect.objectContaining({ _tag: "TokensIssued", grantType: voucher.name })
        )
      })
    ))

  test("refuses by its own faults, and clients that did not register for it", () =>
    inShop((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { grant_types: [voucher.name] })
        const other = yield* registerClient(world)
        const errorOf = (by: typeof client, fields: Record<string, string>) =>
          Effect.map(tokenRequest(world, by, fields), (response) => [response.status, jsonOf(response).error])
        expect(yield* errorOf(client, { ...used, voucher: "made-up" })).toEqual([400, "invalid_grant"])
        expect(yield* errorOf(client, { grant_type: voucher.name })).toEqual([400, "invalid_request"])
        expect(yield* errorOf(other, used)).toEqual([400, "unauthorized_client"])
      })
    ))

  test("counts at the network of a client that shows nothing of its own, where its row lets in such a one", () => {
    const { limiter, taken } = watchedLimiter()
    const open = { ...voucher, registers: { needs: [], brings: ["refresh_token"] } as const }
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, {
          grant_types: [voucher.name],
          token_endpoint_auth_method: "none"
        })
        taken.splice(0)
        const body = form({ client_id: client.id, ...used })
        const answer = yield* world.send("POST", "/oauth/token", { headers: formHeaders, body, peer: "192.0.2.7" })
        expect(answer.status).toBe(200)
        expect(taken.map((key) => key.replace(/ [^ ]{8}$/, " GRANT"))).toEqual([
          `public_client ${client.id} 192.0.2.7`,
          `grant ${client.id} GRANT`
        ])
      },
      { limiter, grants: [...grantTypes, open] }
    )
  })

  test("is registered for as its row says: with a secret, and what it brings", () =>
    inShop((world) =>
      Effect.gen(function* () {
        const register = (metadata: object) =>
          Effect.map(postRegistration(world, { grant_types: [voucher.name], ...metadata }), jsonOf)
        const answer = yield* register({})
        expect([answer.grant_types, answer.response_types]).toEqual([["refresh_token", voucher.name], []])
        expect(yield* register({ token_endpoint_auth_method: "none" })).toMatchObject({
          error: "invalid_client_metadata"
        })
      })
    ))

  test("stands in the metadata and in the OpenAPI document", () =>
    inShop((world) =>
      Effect.gen(function* () {
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        const usable = grants.filter(({ signs }) => signs !== true)
        expect(metadata.grant_types_supported).toEqual(usable.map(({ name }) => name))
        const document = yield* world.send("GET", "/openapi.json")
        expect(jsonOf(document)).toHaveProperty(["components", "schemas", "UseVoucher", "properties", "voucher"])
        expect(JSON.stringify(jsonOf(document).paths)).toContain("#/components/schemas/UseVoucher")
      })
    ))

  test("is unknown to a server that is composed without it", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const response = yield* tokenRequest(world, client, used)
      expect([response.status, jsonOf(response).error]).toEqual([400, "unsupported_grant_type"])
    }))

  test("may not have the name of another row", async () => {
    const twice = Effect.promise(() =>
      inWorld(() => Effect.void, { grants: [...grants, { ...voucher, faults: [] }] }).then(
        () => undefined,
        (failure: unknown) => failure
      )
    )
    expect(await Effect.runPromise(twice)).toMatchObject({ _tag: "DuplicateRow", name: voucher.name })
  })
})

/** What its author says of it: a voucher that is out begins a grant of its person's, any other is refused. */
const model: GrantTypeModel = {
  name: voucher.name,
  draw: (dice) => ({ voucher: dice.chance(80) ? used.voucher : "made-up" }),
  rules: [
    {
      name: "a voucher that is not out is refused",
      when: ({ command }) => command.fields.voucher !== used.voucher,
      gives: refused400("invalid_grant")
    },
    {
      name: "a voucher begins a grant",
      when: () => true,
      gives: beginsGrant({ user: "ada", scope: ["api", "profile"], refresh: true })
    }
  ]
}

const stage =
  (rows: typeof grants): Stage =>
  (world, script) =>
    inProcess(world, { grants: rows }).pipe(
      Effect.map(({ system }) => playOver(system, world, script)),
      Effect.provide(Memory.layer, { local: true })
    )

describe("a grant type of a host's own in the model's scripts", () => {
  // A voucher brings all that its client may have, which is more where people sign in by OpenID Connect.
  const runs = { seed: 20, runs: 30, world: { grantTypes: [model], openId: false } }

  test("is drawn, and comes out as its author's rules say", async () => {
    const result = await Effect.runPromise(checkModel(stage(grants), runs))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
    const played = result._tag === "Agreed" ? [...result.rules.keys()] : []
    expect(model.rules.filter(({ name }) => !played.includes(name))).toEqual([])
  }, 60_000)

  test("is caught where it does otherwise", async () => {
    const generous: typeof voucher = {
      ...voucher,
      grantOf: (_form, by, opener) => voucher.grantOf({ voucher: used.voucher }, by, opener, undefined)
    }
    const result = await Effect.runPromise(checkModel(stage([...grantTypes, generous]), runs))
    expect(result._tag).toBe("Falsified")
  }, 60_000)
})
