import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { clientKey, readClientIdentifier } from "../../../core/client/ClientIdentifier.ts"
import { answerByIdentifier } from "../../../core/engine/administerClients.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import type { Services } from "../../../core/http/Route.ts"
import { assertionType } from "../../../core/oauth/clients/assertion.ts"
import { tokenEndpoint } from "../../../core/oauth/endpoints/token.ts"
import { grantTypes } from "../../../core/oauth/grants/table.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { byOwner } from "../../given/auditContext.ts"
import {
  authorizeTarget,
  bearing,
  codeFor,
  companies,
  decide,
  form,
  formHeaders,
  header,
  introspectBy,
  jsonHeaders,
  jsonOf,
  postRegistration,
  redeem,
  redirectUri,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  text,
  tokenRequest,
  tokensOf
} from "../../given/flow.ts"
import { assertionOf, keyOf as signerOf } from "../../given/pushing.ts"
import {
  inWorld,
  keyFrom,
  realSignatures,
  requestOf,
  type Sent,
  type Steps,
  t0,
  type World,
  type WorldOptions
} from "../../given/World.ts"
import { voucher } from "../voucher.ts"

const atConsent = { registrationRows: "at_consent" } as const

const inRowless = (body: (world: World) => Steps<unknown>, options: WorldOptions = {}) =>
  inWorld(body, { signatures: realSignatures, ...options, policy: { ...atConsent, ...options.policy } })

/** What the store was asked to change since. */
const writes = ({ calls }: World) => [...calls.insert, ...calls.replace, ...calls.remove]

const keyOf = ({ id }: TestClient) => {
  const read = readClientIdentifier(id)
  if (read._tag === "None") throw new Error(`no identifier: ${id}`)
  return clientKey(read.value)
}

const stored = (world: World, client: TestClient) =>
  world.services.clients.findStored(world.workspace.id, keyOf(client))

const pathOf = ({ registrationUri }: TestClient) => new URL(registrationUri).pathname

const own = (world: World, client: TestClient, method: "GET" | "PUT" | "DELETE", body?: object, sent: Sent = {}) =>
  world.send(method, pathOf(client), {
    ...sent,
    headers: { ...jsonHeaders, ...bearing(client.registrationToken), ...sent.headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

const page = (world: World, client: TestClient, sent: Sent = { as: "alice" }) =>
  world.send("GET", authorizeTarget(client), sent)

const publicClient = { token_endpoint_auth_method: "none" } as const

describe("a registration that is left to the first consent", () => {
  for (const [name, metadata] of [
    ["with a secret in the body", {}],
    ["with a secret in the header", { token_endpoint_auth_method: "client_secret_basic" }],
    ["without a secret", publicClient],
    [
      "that says much of itself",
      { ...publicClient, client_name: "Ω reader", client_uri: "https://a.example", contacts: ["a@b.example"] }
    ]
  ] as const) {
    test(`${name}: writes nothing, nor does its page, its sign-in or a no`, () =>
      inRowless(function* (world) {
        const client = yield* registerClient(world, metadata)
        expect(client.id).toMatch(/^tsr_c_[A-Za-z0-9_-]{64,694}$/)
        expect(client.registrationUri).toBe(`${world.workspace.issuer}/oauth/register/${client.id}`)
        expect((yield* page(world, client, {})).status).toBe(303)
        const shown = yield* page(world, client)
        expect(shown.status).toBe(200)
        expect((yield* world.send("GET", authorizeTarget(client, { redirect_uri: "https://b.example" }))).status).toBe(
          400
        )
        expect((yield* own(world, client, "GET")).status).toBe(200)
        expect(writes(world)).toEqual([])
        // The answer of a person is a record of its own, as of any client.
        expect((yield* decide(world, shown, "deny")).status).toBe(303)
        expect(writes(world)).toEqual(["request"])
        expect(yield* stored(world, client)).toBeUndefined()
        expect(world.audit.filter(({ event }) => event._tag === "ClientRegistered")).toEqual([])
      }))

    test(`${name}: a yes writes it, and it goes the whole way`, () =>
      inRowless(function* (world) {
        const client = yield* registerClient(world, metadata)
        const inHeader =
          "token_endpoint_auth_method" in metadata && metadata.token_endpoint_auth_method === "client_secret_basic"
        const code = yield* codeFor(world, client)
        expect((yield* stored(world, client))?.origin?.identifier as string).toBe(client.id)
        const redeemed = inHeader
          ? yield* world.send("POST", "/oauth/token", {
              headers: { ...formHeaders, authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
              body: form({
                grant_type: "authorization_code",
                code,
                redirect_uri: client.redirectUri,
                code_verifier: "a-code-verifier-of-at-least-43-characters-~._"
              })
            })
          : yield* redeem(world, client, code)
        const tokens = tokensOf(redeemed)
        expect((yield* companies(world, tokens.access)).status).toBe(200)
        const elsewhere = yield* world.elsewhere
        const again = tokensOf(yield* refresh(elsewhere, client, tokens.refresh))
        const told = yield* introspectBy(elsewhere, client, again.access)
        if (client.secret !== undefined) expect(jsonOf(told)).toMatchObject({ active: true, client_id: client.id })
        // A person let it in: it stays for good, and no key of its identifier is asked for any more.
        expect((yield* stored(world, client))?.expiresAt).toBeNull()
        world.turnRing(() => [keyFrom(2)])
        expect((yield* page(yield* world.elsewhere, client)).status).toBe(200)
        expect((yield* own(yield* world.elsewhere, client, "GET")).status).toBe(200)
      }))
  }

  test("knows itself in every process, and nothing is lost with one", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      const elsewhere = yield* world.elsewhere
      expect((yield* own(elsewhere, client, "GET")).status).toBe(200)
      expect((yield* companies(elsewhere, (yield* signInToApp(elsewhere, client)).access)).status).toBe(200)
    }))

  test("is told as any other is", () =>
    inRowless(function* (world) {
      const metadata = { client_name: "Reader", scope: "profile api", contacts: ["a@b.example"] }
      const sent = { redirect_uris: ["https://a.example/cb", "http://127.0.0.1/cb"], ...metadata }
      const register = (to: World) => Effect.map(postRegistration(to, sent), jsonOf)
      const told = yield* register(world)
      const names = ["client_id", "client_secret", "registration_client_uri", "registration_access_token"]
      const said = (body: Record<string, unknown>) =>
        Object.fromEntries(
          Object.entries(body).map(([name, value]) => [name, names.includes(name) ? typeof value : value])
        )
      yield* Effect.promise(() =>
        inWorld((other) => Effect.map(register(other), (body) => expect(said(told)).toEqual(said(body))))
      )
      const client = {
        registrationUri: told.registration_client_uri,
        registrationToken: told.registration_access_token
      }
      const read = jsonOf(yield* own(world, client as TestClient, "GET"))
      expect(read).toEqual(Object.fromEntries(Object.entries(told).filter(([name]) => name !== "client_secret")))
    }))

  test("is another one each time, though it says the same", () =>
    inRowless(function* (world) {
      const [one, two] = [yield* registerClient(world), yield* registerClient(world)]
      expect(one.id).not.toBe(two.id)
      expect(one.secret).not.toBe(two.secret)
      const swapped = { ...one, registrationToken: two.registrationToken }
      expect((yield* own(world, swapped, "GET")).status).toBe(401)
      const code = yield* codeFor(world, one)
      expect((yield* redeem(world, { ...one, secret: two.secret }, code)).status).toBe(401)
      expect((yield* redeem(world, one, code)).status).toBe(200)
    }))

  test("pushes a request, asks and revokes before a person let it in", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      const post = (path: string, fields: Readonly<Record<string, string>>) =>
        world.send("POST", path, {
          headers: formHeaders,
          body: form({ client_id: client.id, client_secret: client.secret, ...fields })
        })
      expect(jsonOf(yield* post("/oauth/introspect", { token: "tsr_at_none" }))).toEqual({ active: false })
      expect((yield* post("/oauth/revoke", { token: "tsr_at_none" })).status).toBe(200)
      expect(writes(world)).toEqual([])
      const query = authorizeTarget(client).split("?")[1] ?? ""
      const pushed = yield* post("/oauth/par", Object.fromEntries(new URLSearchParams(query)))
      expect(pushed.status).toBe(201)
      const shown = yield* world.send(
        "GET",
        `/oauth/authorize?${form({ client_id: client.id, request_uri: text(jsonOf(pushed).request_uri) })}`,
        { as: "alice" }
      )
      expect(shown.status).toBe(200)
      expect(writes(world)).toEqual(["request"])
      const approved = yield* decide(world, shown, "approve")
      const code = new URL(text(header(approved, "location"))).searchParams.get("code") ?? ""
      expect((yield* redeem(world, client, code)).status).toBe(200)
    }))

  test("has a record at once where it says too much", () =>
    inRowless(function* (world) {
      const lengths: Array<number> = []
      for (let more = 0; more < 500; more++) {
        const { id } = yield* registerClient(world, {
          ...publicClient,
          client_uri: `https://a.example/${"x".repeat(more)}`
        })
        lengths.push(id.length)
        if (id.length === 22) break
      }
      expect(lengths.at(-1)).toBe(22)
      const sealed = lengths.slice(0, -1)
      expect(Math.max(...sealed)).toBeLessThanOrEqual(700)
      expect(Math.max(...sealed)).toBeGreaterThanOrEqual(698)
      expect(world.calls.insert.filter((kind) => kind === "client")).toHaveLength(1)
      const more = { ...machine, client_uri: `https://a.example/${"x".repeat(600)}` }
      const long = yield* registerClient(world, more)
      expect(long.id).toHaveLength(22)
      expect((yield* askAlone(world, long)).status).toBe(200)
    }))

  test("has a record at once where a grant type of the host's own is not known to wait", () =>
    inRowless(
      function* (world) {
        const client = yield* registerClient(world, { grant_types: ["authorization_code", "urn:example:voucher"] })
        expect(client.id).toHaveLength(22)
      },
      { grants: [...grantTypes, voucher] }
    ))
})

const machine = { client_name: "Nightly", grant_types: ["client_credentials"] } as const
const askAlone = (world: World, client: TestClient, fields: Readonly<Record<string, string>> = {}) =>
  tokenRequest(world, client, { grant_type: "client_credentials", ...fields })

const accessOf = (response: HttpResponse) => text(jsonOf(response).access_token)

const errorOf = (response: HttpResponse) => [response.status, jsonOf(response).error]

const answered = (world: World, client: TestClient, change: "approved" | "refused") => {
  const identifier = readClientIdentifier(client.id)
  return identifier._tag === "None"
    ? Effect.succeed("unreadable" as const)
    : answerByIdentifier(world.services, byOwner(world), world.workspace, identifier.value, change)
}

const auditedOf = ({ audit }: World) =>
  audit.flatMap(({ event }) =>
    event._tag === "ClientRegistered" ? ["registered"] : event._tag === "ClientChanged" ? [event.change] : []
  )

describe("a registration for access without a person, where all that register have it", () => {
  test("is written with its first token, and goes on as any other", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, machine)
      expect(client.id).toMatch(/^tsr_c_/)
      expect((yield* own(world, client, "GET")).status).toBe(200)
      expect(writes(world)).toEqual([])
      const first = yield* askAlone(world, client)
      expect(first.status).toBe(200)
      expect(world.calls.insert).toEqual(["limit", "client", "grant"])
      const elsewhere = yield* world.elsewhere
      const second = yield* askAlone(elsewhere, client)
      for (const one of [first, second]) {
        expect((yield* companies(elsewhere, accessOf(one))).status).toBe(200)
      }
      const told = jsonOf(yield* introspectBy(world, client, accessOf(second)))
      expect(told).toMatchObject({ active: true, client_id: client.id })
      expect(world.calls.insert).toEqual(["limit", "client", "grant"])
      expect(auditedOf(world)).toEqual(["registered"])
      expect((yield* own(world, client, "DELETE")).status).toBe(204)
      expect((yield* companies(elsewhere, accessOf(second))).status).toBe(401)
      expect(errorOf(yield* askAlone(elsewhere, client))).toEqual([401, "invalid_client"])
    }))

  test("nothing that is refused writes it", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, machine)
      for (const [fields, refused] of [
        [{ scope: "profile" }, [400, "invalid_scope"]],
        [{ resource: "https://other.example" }, [400, "invalid_target"]],
        [{ client_secret: `${client.secret}x` }, [401, "invalid_client"]]
      ] as const) {
        expect(errorOf(yield* askAlone(world, client, fields))).toEqual([...refused])
      }
      const person = yield* registerClient(world)
      expect(errorOf(yield* askAlone(world, person))).toEqual([400, "unauthorized_client"])
      expect(writes(world)).toEqual([])
    }))

  test("nor does an assertion that was shown before", () =>
    inRowless(function* (world) {
      const key = yield* Effect.promise(() => signerOf("ES256", "one"))
      const client = yield* registerClient(world, {
        ...machine,
        redirect_uris: [],
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [key.jwk] }
      })
      expect(client.id).toMatch(/^tsr_c_/)
      const shown = yield* assertionOf({ ...client, key })
      const post = (path: string, fields: Readonly<Record<string, string>>) =>
        world.send("POST", path, {
          headers: formHeaders,
          body: form({ client_assertion_type: assertionType, client_assertion: shown, ...fields })
        })
      expect((yield* post("/oauth/introspect", { token: "x" })).status).toBe(200)
      expect(errorOf(yield* post("/oauth/token", { grant_type: "client_credentials" }))).toEqual([
        401,
        "invalid_client"
      ])
      expect(yield* stored(world, client)).toBeUndefined()
      const fresh = { client_assertion: yield* assertionOf({ ...client, key }) }
      expect((yield* post("/oauth/token", { grant_type: "client_credentials", ...fresh })).status).toBe(200)
    }))

  test("of two first requests in two processes one writes it, and both tokens are good", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, machine)
      const elsewhere = yield* world.elsewhere
      const both = yield* Effect.all([askAlone(world, client), askAlone(elsewhere, client)], {
        concurrency: "unbounded"
      })
      for (const one of both) expect((yield* companies(world, accessOf(one))).status).toBe(200)
      expect(auditedOf(world)).toEqual(["registered"])
    }))

  test("makes room for others by what its id brings back, and by nothing else", () =>
    inRowless(
      function* (world) {
        const clear = world.services.clientRoom.clear(world.workspace.id)
        const clients: Array<TestClient> = []
        for (let at = 0; at < 11; at++) {
          const client = yield* registerClient(world, machine)
          clients.push(client)
          expect((yield* askAlone(world, client)).status).toBe(200)
          yield* TestClock.adjust("1 second")
        }
        const [deleted, refused, first] = clients as [TestClient, TestClient, TestClient]
        yield* own(world, deleted, "DELETE")
        yield* answered(world, refused, "refused")
        expect((yield* askAlone(world, yield* registerClient(world, machine))).status).toBe(503)
        expect(yield* clear).toBe(1)
        yield* TestClock.adjust("1 second")
        expect(yield* stored(world, first)).toBeUndefined()
        expect(yield* stored(world, deleted)).toBeDefined()
        expect((yield* stored(world, refused))?.workspaceAccess?.answer?.approved).toBe(false)
        // It is as it was, and there is room for it.
        expect((yield* askAlone(yield* world.elsewhere, first)).status).toBe(200)
        expect(errorOf(yield* askAlone(world, deleted))).toEqual([401, "invalid_client"])
        expect((yield* own(world, deleted, "GET")).status).toBe(401)
        // Decided on what is stored: one that was deleted since it was found stays so.
        yield* own(world, first, "DELETE")
        const now = Instant.make(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
        expect(yield* world.services.clients.letGo(world.workspace.id, keyOf(first), now)).toBe("stays")
        expect(errorOf(yield* askAlone(world, first))).toEqual([401, "invalid_client"])
      },
      { policy: { maxUnprovenClients: 10 } }
    ))

  test("stays once a person let it in, though it has no tokens of the person's yet", () =>
    inRowless(
      function* (world) {
        const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
        expect((yield* askAlone(world, client)).status).toBe(200)
        const code = yield* codeFor(world, client)
        for (let at = 0; at < 10; at++) {
          yield* TestClock.adjust("1 second")
          expect((yield* askAlone(world, yield* registerClient(world, machine))).status).toBe(200)
        }
        expect(yield* world.services.clientRoom.clear(world.workspace.id)).toBe(1)
        expect((yield* redeem(yield* world.elsewhere, client, code)).status).toBe(200)
      },
      { policy: { maxUnprovenClients: 10 } }
    ))

  test("takes the room of strangers, and there is no more", () =>
    inRowless(
      function* (world) {
        const statuses: Array<number> = []
        for (let at = 0; at < 13; at++) {
          statuses.push((yield* askAlone(world, yield* registerClient(world, machine))).status)
        }
        expect(statuses).toEqual([...Array.from({ length: 11 }, () => 200), 503, 503])
        expect(world.calls.insert.filter((kind) => kind === "client")).toHaveLength(11)
        expect(world.calls.insert.filter((kind) => kind === "grant")).toHaveLength(11)
      },
      { policy: { maxUnprovenClients: 10 } }
    ))
})

describe("a registration for access without a person, where an owner approves it", () => {
  const inApproved = (body: (world: World) => Steps<unknown>, options: WorldOptions = {}) =>
    inRowless(body, { ...options, policy: { workspaceAccess: "approved", ...options.policy } })

  test("writes nothing, however often it asks, until an owner approves it by its id", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      for (let again = 0; again < 20; again++) {
        expect(errorOf(yield* askAlone(world, client))).toEqual([400, "unauthorized_client"])
      }
      expect(writes(world)).toEqual([])
      expect(yield* answered(world, client, "approved")).toBe("done")
      expect(yield* answered(world, client, "approved")).toBe("was_so")
      // An owner answers for it, so it takes no room and stays.
      expect(world.calls.insert).toEqual(["client"])
      expect((yield* stored(world, client))?.expiresAt).toBeNull()
      const token = accessOf(yield* askAlone(yield* world.elsewhere, client))
      expect((yield* companies(world, token)).status).toBe(200)
      expect(auditedOf(world)).toEqual(["registered", "approved"])
      expect(yield* answered(world, client, "refused")).toBe("done")
      expect((yield* companies(world, token)).status).toBe(401)
      expect(errorOf(yield* askAlone(world, client))).toEqual([400, "unauthorized_client"])
    }))

  test("a refusal is written too, and outlasts the id", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      expect(yield* answered(world, client, "refused")).toBe("done")
      expect((yield* stored(world, client))?.workspaceAccess?.answer?.approved).toBe(false)
      yield* TestClock.adjust(world.services.policy.unusedClientTtl - 1)
      yield* world.storage.sweep(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 1000)
      yield* world.services.clientRoom.clear(world.workspace.id)
      expect(errorOf(yield* askAlone(yield* world.elsewhere, client))).toEqual([400, "unauthorized_client"])
      expect((yield* stored(world, client))?.workspaceAccess?.answer?.approved).toBe(false)
      expect(yield* answered(world, client, "approved")).toBe("done")
      expect((yield* askAlone(world, client)).status).toBe(200)
    }))

  test("a person who lets it in answers for no more than that", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      expect(client.id).toMatch(/^tsr_c_/)
      expect((yield* companies(world, (yield* signInToApp(world, client)).access)).status).toBe(200)
      expect(errorOf(yield* askAlone(world, client))).toEqual([400, "unauthorized_client"])
      expect(yield* answered(world, client, "approved")).toBe("done")
      expect((yield* askAlone(world, client)).status).toBe(200)
    }))

  test("an update asks anew, for what it says then", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      yield* answered(world, client, "approved")
      const renamed = yield* own(world, client, "PUT", {
        ...machine,
        client_id: client.id,
        token_endpoint_auth_method: "client_secret_post",
        redirect_uris: [redirectUri],
        client_name: "Your bank"
      })
      expect(renamed.status).toBe(200)
      expect(errorOf(yield* askAlone(world, client))).toEqual([400, "unauthorized_client"])
    }))

  const edited = (client: TestClient, at: number): TestClient => {
    const letter = client.id[at] === "A" ? "B" : "A"
    return { ...client, id: client.id.slice(0, at) + letter + client.id.slice(at + 1) }
  }

  const bad: ReadonlyArray<
    readonly [string, (world: World, client: TestClient) => Effect.Effect<TestClient, unknown>, string]
  > = [
    ["forged in its first byte", (_, client) => Effect.succeed(edited(client, 7)), "unknown"],
    ["forged in its middle", (_, client) => Effect.succeed(edited(client, 80)), "unknown"],
    ["forged in its seal", (_, client) => Effect.succeed(edited(client, client.id.length - 8)), "unknown"],
    ["cut", (_, client) => Effect.succeed({ ...client, id: client.id.slice(0, -4) }), "unknown"],
    ["cut to a stump", (_, client) => Effect.succeed({ ...client, id: client.id.slice(0, 30) }), "unreadable"],
    ["longer than it was", (_, client) => Effect.succeed({ ...client, id: `${client.id}AAAA` }), "unknown"],
    ["the key of its record", (_, client) => Effect.succeed({ ...client, id: keyOf(client) }), "unknown"],
    [
      "past its 30 days",
      (world, client) => Effect.as(TestClock.adjust(world.services.policy.unusedClientTtl), client),
      "unknown"
    ],
    ["of a client that was deleted", (world, client) => Effect.as(own(world, client, "DELETE"), client), "unknown"],
    [
      "of a key that left",
      (world, client) =>
        Effect.sync(() => {
          world.turnRing(() => [keyFrom(2)])
          return client
        }),
      "unknown"
    ],
    ["of one that asks for people's access alone", (world) => registerClient(world), "not_asked"]
  ]
  for (const [name, make, outcome] of bad) {
    test(`an id that is ${name} is neither approved nor refused, and writes nothing`, () =>
      inApproved(function* (world) {
        const client = yield* make(world, yield* registerClient(world, machine))
        const before = writes(world).length
        expect(yield* answered(world, client, "approved")).toBe(outcome as "unknown")
        expect(yield* answered(world, client, "refused")).toBe(outcome as "unknown")
        expect(writes(world)).toHaveLength(before)
        expect((yield* askAlone(world, client)).status).toBeGreaterThanOrEqual(400)
      }))
  }

  test("an id of another workspace over the same keys is none of this one", () =>
    inApproved(
      function* (world) {
        const client = yield* registerClient(world, machine, { host: "auth.example.com" })
        const identifier = Option.getOrThrow(readClientIdentifier(client.id))
        const say = (workspace: Workspace) =>
          answerByIdentifier(
            world.services,
            { ...byOwner(world), workspace: workspace.id },
            workspace,
            identifier,
            "approved"
          )
        expect(yield* say(twin)).toBe("unknown")
        expect(writes(world)).toEqual([])
        expect(yield* say(home)).toBe("done")
      },
      { workspaces: [home, twin] }
    ))

  test("an approval beside a deletion: whichever is first, no token is left", () =>
    inApproved(function* (world) {
      for (let round = 0; round < 8; round++) {
        const client = yield* registerClient(world, machine)
        const elsewhere = yield* world.elsewhere
        const approval: Effect.Effect<unknown, unknown> = answered(world, client, "approved")
        const deletion: Effect.Effect<unknown, unknown> = own(elsewhere, client, "DELETE")
        yield* Effect.all(round % 2 === 0 ? [approval, deletion] : [deletion, approval], {
          concurrency: "unbounded"
        })
        expect(errorOf(yield* askAlone(elsewhere, client))).toEqual([401, "invalid_client"])
        expect(yield* answered(elsewhere, client, "approved")).toBe("unknown")
      }
    }))

  test("two owners approve it at once: it is one client", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      const elsewhere = yield* world.elsewhere
      const both = yield* Effect.all([answered(world, client, "approved"), answered(elsewhere, client, "approved")], {
        concurrency: "unbounded"
      })
      expect([...both].sort()).toEqual(["done", "was_so"])
      expect(auditedOf(world)).toEqual(["registered", "approved"])
      expect((yield* askAlone(world, client)).status).toBe(200)
    }))
})

const twin: Workspace = {
  id: WorkspaceId.make("twin"),
  issuer: Issuer.make("https://twin.example.com"),
  name: "Twin"
}
const home: Workspace = { ...twin, id: WorkspaceId.make("home"), issuer: Issuer.make("https://auth.example.com") }

describe("an identifier that was not given so", () => {
  const refusedEverywhere = (world: World, client: TestClient, sent: Sent = {}) =>
    Effect.gen(function* () {
      expect((yield* page(world, client, { as: "alice", ...sent })).status).toBe(400)
      expect((yield* own(world, client, "GET", undefined, sent)).status).toBe(401)
      expect((yield* own(world, client, "DELETE", undefined, sent)).status).toBe(401)
      const asked = yield* world.send("POST", "/oauth/token", {
        ...sent,
        headers: formHeaders,
        body: form({
          client_id: client.id,
          client_secret: client.secret,
          grant_type: "refresh_token",
          refresh_token: "x"
        })
      })
      expect([asked.status, jsonOf(asked).error]).toEqual([401, "invalid_client"])
      expect(writes(world)).toEqual([])
    })

  const renamed = (client: TestClient, id: string): TestClient => ({
    ...client,
    id,
    registrationUri: client.registrationUri.replace(client.id, id)
  })

  test("is edited at any one place", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      // What is no text of an identifier is no page of the registrations either.
      for (let at = 6; at < client.id.length; at += 1) {
        const letter = client.id[at] === "A" ? "B" : "A"
        const id = client.id.slice(0, at) + letter + client.id.slice(at + 1)
        expect((yield* own(world, renamed(client, id), "GET")).status).toBe(401)
        if (at % 40 === 0) yield* refusedEverywhere(world, renamed(client, id))
      }
      for (const id of [client.id.slice(0, -4), `${client.id}AAAA`, client.id.slice(0, 60), client.id.toLowerCase()]) {
        yield* refusedEverywhere(world, renamed(client, id))
      }
    }))

  test("has another redirect URI under the same seal", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      const bytes = Buffer.from(client.id.slice(6), "base64url").toString("latin1")
      const id = `tsr_c_${Buffer.from(bytes.replace("app.example.org", "bad.example.org"), "latin1").toString("base64url")}`
      expect(id).not.toBe(client.id)
      yield* refusedEverywhere(world, renamed(client, id))
    }))

  test("is of another workspace over the same keys", () =>
    inRowless(
      function* (world) {
        const client = yield* registerClient(world, {}, { host: "auth.example.com" })
        expect((yield* page(world, client, { as: "alice", host: "auth.example.com" })).status).toBe(200)
        yield* refusedEverywhere(world, client, { host: "twin.example.com" })
      },
      { workspaces: [home, twin] }
    ))

  test("is of a key that left, or of one that never was", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      world.turnRing((ring) => [keyFrom(2), ...ring])
      expect((yield* page(world, client)).status).toBe(200)
      const younger = yield* registerClient(world)
      world.turnRing(([first]) => [first])
      yield* refusedEverywhere(world, client)
      expect((yield* page(world, younger)).status).toBe(200)
    }))

  test("is older than a client is kept that no person let in", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      yield* TestClock.adjust(world.services.policy.unusedClientTtl - 1)
      expect((yield* page(world, client)).status).toBe(200)
      yield* TestClock.adjust(1)
      yield* refusedEverywhere(world, client)
    }))

  test("is the key of its record", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, publicClient)
      yield* signInToApp(world, client)
      const key = renamed(client, keyOf(client))
      expect((yield* page(world, key)).status).toBe(400)
      expect((yield* own(world, key, "GET")).status).toBe(401)
    }))
})

describe("RFC 7592 of a registration without a record", () => {
  const update = (client: TestClient, more: object = {}) => ({
    client_id: client.id,
    redirect_uris: [client.redirectUri],
    token_endpoint_auth_method: "client_secret_post",
    ...more
  })

  test("an update writes it, and wins over the identifier from then on", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, { redirect_uris: [redirectUri, "https://old.example/cb"] })
      const answer = yield* own(world, client, "PUT", update(client, { client_name: "Now" }))
      expect([answer.status, jsonOf(answer).client_name, jsonOf(answer).client_id]).toEqual([200, "Now", client.id])
      expect(world.calls.insert).toEqual(["limit", "client"])
      const gone = authorizeTarget({ ...client, redirectUri: "https://old.example/cb" })
      const elsewhere = yield* world.elsewhere
      expect((yield* elsewhere.send("GET", gone, { as: "alice" })).status).toBe(400)
      expect((yield* own(elsewhere, client, "GET")).status).toBe(200)
      expect((yield* companies(world, (yield* signInToApp(world, client)).access)).status).toBe(200)
      // It is not let go while its identifier opens, which would bring the former registration back.
      expect((yield* own(world, client, "PUT", update(client))).status).toBe(200)
    }))

  test("a page that was drawn before an update is answered by what is written", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      const shown = yield* page(world, client)
      yield* own(world, client, "PUT", update(client, { redirect_uris: ["https://new.example/cb"] }))
      const answer = yield* decide(world, shown, "approve")
      expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
    }))

  test("what it may not become writes nothing", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      for (const wrong of [
        update(client, { redirect_uris: ["http://plain.example"] }),
        { ...update(client), client_id: "x" },
        { ...update(client), client_secret: `${client.secret}x` }
      ]) {
        expect((yield* own(world, client, "PUT", wrong)).status).toBe(400)
      }
      expect(writes(world)).toEqual([])
    }))

  const endings: ReadonlyArray<readonly [string, (world: World, client: TestClient) => Effect.Effect<unknown>]> = [
    ["before a person let it in", () => Effect.void],
    ["after a person did", (world, client) => signInToApp(world, client)],
    ["after an update", (world, client) => own(world, client, "PUT", update(client))]
  ]
  for (const [when, before] of endings) {
    test(`deleted ${when}, it stays deleted in every process`, () =>
      inRowless(function* (world) {
        const client = yield* registerClient(world)
        const opened = yield* page(world, client)
        yield* before(world, client)
        expect((yield* own(world, client, "DELETE")).status).toBe(204)
        for (const process of [world, yield* world.elsewhere]) {
          expect((yield* own(process, client, "GET")).status).toBe(401)
          expect((yield* own(process, client, "PUT", update(client))).status).toBe(401)
          expect((yield* own(process, client, "DELETE")).status).toBe(401)
          expect((yield* page(process, client)).status).toBe(400)
          for (const decision of ["approve", "deny"] as const) {
            const answer = yield* decide(process, opened, decision)
            expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
          }
          const asked = yield* tokenRequest(process, client, { grant_type: "refresh_token", refresh_token: "x" })
          expect(jsonOf(asked).error).toBe("invalid_client")
        }
        // Swept as soon as the identifier opens no more, and not before.
        yield* TestClock.adjust(world.services.policy.unusedClientTtl - 1)
        yield* world.storage.sweep(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 1000)
        expect(yield* stored(world, client)).toBeDefined()
        yield* TestClock.adjust(1)
        expect((yield* page(world, client)).status).toBe(400)
        yield* world.storage.sweep(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 1000)
        expect(yield* stored(world, client)).toBeUndefined()
        expect((yield* page(world, client)).status).toBe(400)
      }))
  }

  test("what it was granted ends with it", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world)
      const tokens = yield* signInToApp(world, client)
      yield* own(world, client, "DELETE")
      expect((yield* companies(world, tokens.access)).status).toBe(401)
    }))

  test("records of updates and deletions have the room of strangers, and no more", () =>
    inRowless(
      function* (world) {
        const statuses: Array<number> = []
        const clients: Array<TestClient> = []
        for (let at = 0; at < 13; at++) {
          const client = yield* registerClient(world)
          clients.push(client)
          const answer = yield* at % 2 === 0 ? own(world, client, "DELETE") : own(world, client, "PUT", update(client))
          statuses.push(answer.status)
        }
        expect(statuses.slice(0, 11).every((status) => status < 300)).toBe(true)
        expect(statuses.slice(11)).toEqual([503, 503])
        // Nothing is let go that an identifier would bring back.
        yield* world.services.clientRoom.clear(world.workspace.id)
        for (const client of clients.filter((_, at) => at % 2 === 0 && at < 11)) {
          expect((yield* page(world, client)).status).toBe(400)
        }
        const late = clients.at(-1)
        if (late === undefined) throw new Error("none")
        expect((yield* own(world, late, "DELETE")).status).toBe(503)
        // Who registers, or is let in, needs no such room.
        expect((yield* companies(world, (yield* signInToApp(world, late)).access)).status).toBe(200)
      },
      { policy: { maxUnprovenClients: 10 } }
    ))
})

describe("races of a registration without a record", () => {
  test("two first consents in two processes write one client", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, publicClient)
      const elsewhere = yield* world.elsewhere
      const codes = yield* Effect.all([codeFor(world, client, {}, "alice"), codeFor(elsewhere, client, {}, "bob")], {
        concurrency: "unbounded"
      })
      for (const code of codes) expect((yield* redeem(elsewhere, client, code)).status).toBe(200)
      expect(world.audit.filter(({ event }) => event._tag === "ClientRegistered")).toHaveLength(1)
      const { values } = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
      expect(values).toHaveLength(1)
    }))

  test("a deletion between a client's proof and its first tokens: it is gone, and gets none", () =>
    inRowless(function* (world) {
      const client = yield* registerClient(world, machine)
      const elsewhere = yield* world.elsewhere
      const { brought } = world.services
      const services: Services = {
        ...world.services,
        brought: {
          ...brought,
          record: (...asked) =>
            Effect.andThen(
              Effect.map(own(elsewhere, client, "DELETE"), ({ status }) => expect(status).toBe(204)),
              brought.record(...asked)
            )
        }
      }
      const handler = tokenEndpoint.methods.POST?.handler(services) ?? expect.unreachable()
      const refusal = yield* Effect.flip(
        handler({
          request: requestOf("POST", tokenEndpoint.path, {
            headers: formHeaders,
            body: form({ grant_type: "client_credentials", client_id: client.id, client_secret: client.secret })
          }),
          workspace: world.workspace,
          path: tokenEndpoint.path,
          endpoint: tokenEndpoint.path,
          now: Instant.make(t0),
          requestId: "one"
        })
      )
      expect(refusal).toMatchObject({ _tag: "InvalidClient", reason: "unknown", triedHeader: false })
      expect(world.audit.filter(({ event }) => event._tag === "TokensIssued")).toEqual([])
    }))

  test("a consent beside a deletion: whichever is first, no token is left", () =>
    inRowless(function* (world) {
      for (let round = 0; round < 8; round++) {
        const client = yield* registerClient(world)
        const shown = yield* page(world, client)
        const elsewhere = yield* world.elsewhere
        const consent = Effect.map(decide(world, shown, "approve"), (answer) => ({ consent: answer }))
        const deletion = Effect.map(own(elsewhere, client, "DELETE"), (answer) => ({ deletion: answer }))
        const both = round % 2 === 0 ? [consent, deletion] : [deletion, consent]
        const answers: { readonly consent?: HttpResponse; readonly deletion?: HttpResponse } = Object.assign(
          {},
          ...(yield* Effect.all(both, { concurrency: "unbounded" }))
        )
        const answer = answers.consent
        if (answer === undefined) throw new Error("no answer")
        expect(answers.deletion?.status).toBe(204)
        const location = header(answer, "location")
        const code = location === undefined ? null : new URL(location).searchParams.get("code")
        if (code !== null) expect((yield* redeem(elsewhere, client, code)).status).toBe(401)
        expect((yield* page(elsewhere, client)).status).toBe(400)
      }
    }))
})
