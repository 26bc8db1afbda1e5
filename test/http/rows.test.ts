import { describe, expect, test } from "bun:test"
import { Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { readClientIdentifier } from "../../core/client/ClientIdentifier.ts"
import { clientMember } from "../../core/client/ClientMember.ts"
import { clientMembers } from "../../core/client/members.ts"
import { asItCame } from "../../core/http/form.ts"
import { page } from "../../core/http/Route.ts"
import type { ClientAuth } from "../../core/oauth/clients/ClientAuth.ts"
import { none } from "../../core/oauth/clients/none.ts"
import { secretBasic } from "../../core/oauth/clients/secretBasic.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { refreshToken } from "../../core/oauth/grants/refreshToken.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { apiKey } from "../../core/oauth/presented/apiKey.ts"
import { bearer } from "../../core/oauth/presented/bearer.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { ClientKeys } from "../../core/ports/ClientKeys.ts"
import { Documents } from "../../core/ports/Documents.ts"
import { Signatures } from "../../core/ports/Signatures.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import {
  challenge,
  form,
  formHeaders,
  header,
  jsonHeaders,
  jsonOf,
  postRegistration,
  registerClient,
  text
} from "../given/flow.ts"
import { byNote, secondBearer, toyNote, toySignature, toySignatures, toyStamp } from "../given/toyRows.ts"
import { inWorld, realSignatures, type World, type WorldOptions } from "../given/World.ts"

const withNote: WorldOptions = { clientAuths: [...clientAuths, toyNote], signatures: toySignatures }
const withStamp: WorldOptions = { presentations: [...presentations, toyStamp] }

const tier = clientMember<"gold" | "silver">({
  name: "toy_tier",
  schema: Schema.Literals(["gold", "silver"]),
  fault: (value, { by, kept }) =>
    by === "itself" && kept === "gold" && value !== "gold" ? "The toy_tier of this client is for an owner." : undefined
})

const registerNote = (world: World) =>
  registerClient(world, {
    token_endpoint_auth_method: "toy_note",
    toy_key: "k",
    grant_types: ["client_credentials"]
  })

const ask = (world: World, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
  world.send("POST", "/oauth/token", {
    headers: { ...formHeaders, ...headers },
    body: form({ grant_type: "client_credentials", ...fields })
  })

const wireOf = (response: Parameters<typeof jsonOf>[0]) => [response.status, jsonOf(response).error]

describe("a client authentication that a host adds as a row", () => {
  test("is registered, told as registered, and good at each endpoint that clients call", () =>
    inWorld(function* (world) {
      const made = yield* postRegistration(world, {
        token_endpoint_auth_method: "toy_note",
        toy_key: "k",
        grant_types: ["client_credentials"]
      })
      const told = jsonOf(made)
      expect([made.status, told.token_endpoint_auth_method, told.toy_key]).toEqual([201, "toy_note", "k"])
      expect(Object.keys(told).filter((name) => name.startsWith("client_secret"))).toEqual([])
      const client_id = text(told.client_id)
      const client_note = toySignature("k", client_id)
      const answer = yield* ask(world, { client_id, client_note })
      expect(answer.status).toBe(200)
      const token = text(jsonOf(answer).access_token)
      for (const [path, expected] of [
        ["/oauth/introspect", { active: true }],
        ["/oauth/revoke", {}],
        ["/oauth/introspect", { active: false }]
      ] as const) {
        const body = form({ token, client_id, client_note })
        expect(jsonOf(yield* world.send("POST", path, { headers: formHeaders, body }))).toMatchObject(expected)
      }
    }, withNote))

  test("proves nothing by another key, of another client, beside another method or without being shown", () =>
    inWorld(function* (world) {
      const { id } = yield* registerNote(world)
      const other = yield* registerNote(world)
      const note = toySignature("k", id)
      const bad: ReadonlyArray<Readonly<Record<string, string>>> = [
        { client_id: id, client_note: toySignature("other", id) },
        { client_id: id, client_note: toySignature("k", other.id) },
        { client_id: "unknown", client_note: toySignature("k", "unknown") },
        { client_id: id },
        { client_note: note },
        { client_id: id, client_secret: note }
      ]
      for (const fields of bad) expect(wireOf(yield* ask(world, fields))).toEqual([401, "invalid_client"])
      const basic = `Basic ${btoa(`${id}:x`)}`
      for (const [fields, headers] of [
        [{ client_id: id, client_note: note, client_secret: "x" }, {}],
        [{ client_id: id, client_note: note }, { authorization: basic }]
      ] as const) {
        expect(wireOf(yield* ask(world, fields, headers))).toEqual([400, "invalid_request"])
      }
      const secret = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const shown = { client_id: secret.id, client_note: toySignature("k", secret.id) }
      expect(wireOf(yield* ask(world, shown))).toEqual([401, "invalid_client"])
    }, withNote))

  test("pushes no request in the name of another client, though the row never looks at client_id", () => {
    /** The client's id stands in what it signed. */
    const byNoteAlone: ClientAuth = {
      ...toyNote,
      claim: (request) => {
        const id = readClientIdentifier((asItCame(request.sent, "client_note") ?? "").split(".")[0])
        return toyNote.claim({ ...request, named: Option.getOrUndefined(id) })
      }
    }
    return inWorld(
      function* (world) {
        const methods = { token_endpoint_auth_method: "toy_note", toy_key: "k" }
        const [own, other] = [yield* registerClient(world, methods), yield* registerClient(world, methods)]
        const push = (client_id: string) =>
          world.send("POST", "/oauth/par", {
            headers: formHeaders,
            body: form({
              client_id,
              client_note: toySignature("k", own.id),
              response_type: "code",
              redirect_uri: own.redirectUri,
              code_challenge: challenge,
              code_challenge_method: "S256"
            })
          })
        expect(wireOf(yield* push(other.id))).toEqual([400, "invalid_request"])
        expect((yield* push(own.id)).status).toBe(201)
      },
      { ...withNote, clientAuths: [...clientAuths, byNoteAlone] }
    )
  })

  test("is in the metadata, in registration's refusals and in the OpenAPI document", () =>
    inWorld(function* (world) {
      const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
      for (const endpoint of ["token", "revocation", "introspection"]) {
        expect(metadata[`${endpoint}_endpoint_auth_methods_supported`]).toContain("toy_note")
        expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(["EdDSA"])
      }
      const refused = yield* postRegistration(world, { token_endpoint_auth_method: "tls_client_auth" })
      expect([refused.status, jsonOf(refused).error]).toEqual([400, "invalid_client_metadata"])
      expect(text(jsonOf(refused).error_description)).toContain("toy_note")
      const document = (yield* world.send("GET", "/openapi.json")).body
      for (const word of ["client_note", "toy_key", "toy_note"]) expect(document).toContain(word)
    }, withNote))

  test("without its adapter is no failed authentication, and the client is told to come again", () =>
    inWorld(
      function* (world) {
        const { id } = yield* registerNote(world)
        const answer = yield* ask(world, { client_id: id, client_note: toySignature("k", id) })
        expect([...wireOf(answer), header(answer, "retry-after")]).toEqual([503, "temporarily_unavailable", "2"])
      },
      { clientAuths: [...clientAuths, toyNote] }
    ))

  test("that is taken away leaves its clients readable, and refused", () => {
    const fields = (id: string) => ({ client_id: id, client_note: toySignature("k", id) })
    return inWorld(function* (world) {
      const made = yield* registerClient(world, { grant_types: ["client_credentials"] })
      yield* world.services.clients.change(world.workspace.id, ClientId.make(made.id), (client) => ({
        ...client,
        credential: { _tag: "Key", method: "toy_note", toy_key: "k" }
      }))
      for (const shown of [fields(made.id), { client_id: made.id, client_secret: made.secret ?? "" }]) {
        expect(wireOf(yield* ask(world, shown))).toEqual([401, "invalid_client"])
      }
      const headers = { authorization: `Bearer ${made.registrationToken}` }
      const path = `/oauth/register/${made.id}`
      const read = jsonOf(yield* world.send("GET", path, { headers }))
      expect(read.token_endpoint_auth_method).toBe("toy_note")
      const listed = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
      expect(listed.values.map(({ id }) => String(id))).toEqual([made.id])
      expect((yield* world.send("DELETE", path, { headers })).status).toBe(204)
    })
  })

  test("answers scripts of the reference model as the built-in ones do", async () => {
    const stage: Stage = (world, script) =>
      inProcess(world, { clientAuths: [...clientAuths, toyNote] }).pipe(
        Effect.map(({ system }) => playOver(system, world, script)),
        Effect.provideService(Signatures, toySignatures),
        Effect.provide(Memory.layer, { local: true })
      )
    const result = await Effect.runPromise(checkModel(stage, { seed: 23, runs: 12, world: { methods: [byNote] } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  })
})

describe("a member of registration that a host adds as a row", () => {
  const withTier: WorldOptions = { clientMembers: [...clientMembers, tier] }
  const metadata = { redirect_uris: ["https://app.example/cb"] }

  test("is read, kept, told and documented, and refused where its row says so", () =>
    inWorld(function* (world) {
      const register = (body: object) => postRegistration(world, body)
      expect(wireOf(yield* register({ ...metadata, toy_tier: "tin" }))).toEqual([400, "invalid_client_metadata"])
      expect(jsonOf(yield* register(metadata)).toy_tier).toBeUndefined()
      const made = jsonOf(yield* register({ ...metadata, toy_tier: "gold" }))
      expect(made.toy_tier).toBe("gold")
      const id = ClientId.make(text(made.client_id))
      const kept = yield* world.services.clients.findStored(world.workspace.id, id)
      expect(kept && tier.of(kept)).toBe("gold")

      const headers = { ...jsonHeaders, authorization: `Bearer ${text(made.registration_access_token)}` }
      const update = (more: object) =>
        world.send("PUT", `/oauth/register/${id}`, {
          headers,
          body: JSON.stringify({ client_id: id, ...metadata, ...more })
        })
      expect(wireOf(yield* update({}))).toEqual([400, "invalid_client_metadata"])
      expect(jsonOf(yield* update({ toy_tier: "gold" })).toy_tier).toBe("gold")
      expect((yield* world.send("GET", "/openapi.json")).body).toContain("toy_tier")
    }, withTier))

  test("that is taken away leaves its clients as they were, and is told no more", () =>
    inWorld(function* (world) {
      const made = yield* registerClient(world, metadata)
      const id = ClientId.make(made.id)
      yield* world.services.clients.change(world.workspace.id, id, (client) => ({
        ...client,
        members: { toy_tier: "gold" }
      }))
      const headers = { authorization: `Bearer ${made.registrationToken}` }
      const read = jsonOf(yield* world.send("GET", `/oauth/register/${id}`, { headers }))
      expect([read.client_id, read.toy_tier]).toEqual([made.id, undefined])
    }))
})

describe("a presentation that a host adds as a row", () => {
  const tokenOf = (world: World) =>
    Effect.gen(function* () {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const answer = yield* ask(world, { client_id: client.id, client_secret: client.secret ?? "" })
      expect(jsonOf(answer).token_type).toBe("Bearer")
      return text(jsonOf(answer).access_token)
    })

  test("shows a token at the guard, and at the protocol's own resources", () =>
    inWorld(function* (world) {
      const token = yield* tokenOf(world)
      const stamped = { authorization: `Stamped ${token}`, stamp: "right" }
      expect((yield* world.send("GET", "/rest/companies", { headers: stamped })).status).toBe(200)
      expect((yield* world.guard("/orders", { scopes: ["api"] }, stamped))._tag).toBe("Admitted")
      const unstamped = yield* world.guard("/orders", { scopes: ["api"] }, { authorization: `Stamped ${token}` })
      expect(unstamped._tag === "Refused" ? unstamped.response.status : "admitted").toBe(401)
      // The token is bound to no key, so the proof of one shows that it is in other hands.
      const keyed = yield* world.guard("/orders", { scopes: ["api"] }, { ...stamped, stamp: "a key's" })
      expect(keyed._tag === "Refused" ? keyed.response.status : "admitted").toBe(401)
      const borne = { authorization: `Bearer ${token}` }
      expect((yield* world.send("GET", "/rest/companies", { headers: borne })).status).toBe(200)
    }, withStamp))

  test("has a challenge of its own behind those before it, and a scheme in the OpenAPI document", () =>
    inWorld(function* (world) {
      const refused = yield* world.send("GET", "/rest/companies")
      expect(header(refused, "www-authenticate")).toMatch(/^Bearer resource_metadata=.+, Stamped stamps="right", /)
      const document = jsonOf(yield* world.send("GET", "/openapi.json"))
      expect(document).toMatchObject({
        components: { securitySchemes: { stamped: { type: "http", scheme: "stamped" } } },
        paths: { "/rest/companies": { get: { security: expect.arrayContaining([{ stamped: [] }]) } } }
      })
    }, withStamp))

  test("is not there without the row", () =>
    inWorld(function* (world) {
      const token = yield* tokenOf(world)
      const headers = { authorization: `Stamped ${token}`, stamp: "right" }
      expect((yield* world.send("GET", "/rest/companies", { headers })).status).toBe(401)
    }))
})

describe("tables that cannot be", () => {
  const ownRoute = {
    path: "/own",
    match: "exact",
    methods: { GET: page(() => () => Effect.succeed({ status: 200, headers: [], body: "" })) },
    errors: "oauth",
    cors: false
  } as const
  const composing = (options: WorldOptions) => inWorld(() => Effect.void, options)

  test("have two rows of one name", async () => {
    for (const [options, table, name] of [
      [{ clientAuths: [...clientAuths, secretBasic] }, "clientAuths", "client_secret_basic"],
      [{ clientMembers: [tier, tier] }, "clientMembers", "toy_tier"],
      [{ presentations: [...presentations, secondBearer] }, "presentations", "bearer"],
      [{ grants: [...grantTypes, refreshToken] }, "grants", "refresh_token"],
      [{ endpoints: [ownRoute, ownRoute] }, "endpoints", "/own"]
    ] as const) {
      await expect(composing(options)).rejects.toMatchObject({ _tag: "DuplicateRow", table, name })
    }
  })

  test("have no row for the tokens that the server issues", async () => {
    for (const [options, isPossible] of [
      [{ presentations: [apiKey] }, false],
      [{ presentations: [apiKey, bearer] }, true],
      [{ presentations: [apiKey, bearer], policy: { dpop: "required" }, signatures: realSignatures }, false],
      [{ policy: { dpop: "required" }, signatures: realSignatures }, true],
      // Without whom signs, there is no row of bound ones.
      [{ policy: { dpop: "required" } }, false]
    ] as const) {
      const composed = composing(options).then(
        () => true,
        (fault: unknown) => fault instanceof TypeError && false
      )
      expect([options, await composed]).toEqual([options, isPossible])
    }
  })

  test("but those without a secret may be", () =>
    inWorld(
      function* (world) {
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(metadata.token_endpoint_auth_methods_supported).toEqual(["none"])
        const unnamed = yield* postRegistration(world, { redirect_uris: ["https://app.example/cb"] })
        expect([unnamed.status, jsonOf(unnamed).error]).toEqual([400, "invalid_client_metadata"])
        expect((yield* world.send("GET", "/openapi.json")).status).toBe(200)
      },
      { clientAuths: [none] }
    ))
})

test("a port without an adapter says so", async () => {
  const layers = Layer.mergeAll(Signatures.layerNone, ClientKeys.layerNone, Documents.layerNone)
  const of = {
    workspace: (await inWorld(({ workspace }) => Effect.succeed(workspace))).id,
    client: ClientId.make("c".repeat(22))
  }
  const wrapping = { key: Redacted.make(new Uint8Array(32)), boundTo: "" }
  const limits = { longest: 1, within: 1, freshFor: { least: 0, most: 1 } }
  const asked = [
    Signatures.use(({ verify }) => verify("", [], ["EdDSA"])),
    Signatures.use(({ makeKey }) => makeKey("EdDSA", () => wrapping)),
    Signatures.use(({ rewrap }) => rewrap({ wrapped: "", wrapping }, wrapping)),
    Signatures.use(({ signer }) => signer({ wrapped: "", wrapping }, "EdDSA")),
    ClientKeys.use(({ find }) => find(of, { _tag: "Fetched", jwksUri: "https://app.example/keys" }, undefined)),
    Documents.use(({ fetch }) => fetch("https://app.example/client", limits))
  ]
  for (const asking of asked) {
    const exit = await Effect.runPromiseExit(
      Effect.provide(
        Effect.flip<unknown, { readonly reason: string }, Signatures | ClientKeys | Documents>(asking),
        layers
      )
    )
    expect(Exit.isSuccess(exit) ? exit.value.reason : "").toBe("no_adapter")
  }
})
