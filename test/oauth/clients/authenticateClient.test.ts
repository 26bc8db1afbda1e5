import { expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { clientKey, readClientIdentifier } from "../../../core/client/ClientIdentifier.ts"
import { assertionType } from "../../../core/oauth/clients/assertion.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import {
  form,
  formHeaders,
  header,
  jsonOf,
  registerClient,
  signInToApp,
  type TestClient,
  unregistered,
  type Values
} from "../../given/flow.ts"
import { inWorld, realSignatures, type World } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

const post = (world: World, fields: Values, authorization?: string) =>
  Effect.map(
    world.send("POST", "/oauth/token", {
      headers: { ...formHeaders, ...(authorization === undefined ? {} : { authorization }) },
      body: form(fields)
    }),
    (answer) => {
      if (answer.status === 200) return "200"
      const event = world.audit.at(-1)?.event
      const why = event?._tag === "Refused" ? `${event.refusal} ${event.reason}` : event?._tag
      return `${answer.status} ${jsonOf(answer).error}: ${why}`
    }
  )

const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret}`)}`
const unreadable = "401 invalid_client: InvalidClient unreadable"
const two = "400 invalid_request: InvalidRequest two_client_credentials"

type Shown = (id: string, secret: string) => readonly [fields: Values, authorization?: string]

const rows: ReadonlyArray<readonly [what: string, shown: Shown, outcome: string]> = [
  ["a secret in the body", (client_id, client_secret) => [{ client_id, client_secret }], "200"],
  ["a secret in the header", (id, secret) => [{}, basic(id, secret)], "200"],
  ["the client named beside the header", (client_id, secret) => [{ client_id }, basic(client_id, secret)], "200"],
  ["both", (client_id, client_secret) => [{ client_id, client_secret }, basic(client_id, client_secret)], two],
  // What stands in a header is looked at first, since no server knows what it meant.
  [
    "an unreadable header beside a secret",
    (client_id, client_secret) => [{ client_id, client_secret }, "Basic !"],
    unreadable
  ],
  [
    "another scheme beside a secret",
    (client_id, client_secret) => [{ client_id, client_secret }, "Bearer x"],
    unreadable
  ],
  ["another scheme beside a name", (client_id) => [{ client_id }, "Bearer x"], unreadable],
  [
    "a secret and what is no assertion",
    (client_id, client_secret) => [
      { client_id, client_secret, client_assertion: "x", client_assertion_type: assertionType }
    ],
    two
  ],
  [
    "an impossible name beside the header",
    (id, secret) => [{ client_id: "x!" }, basic(id, secret)],
    "400 invalid_request: InvalidRequest two_client_ids"
  ],
  ["an impossible name", () => [{ client_id: "x!" }], "401 invalid_client: InvalidClient unknown"],
  [
    "a secret and no name",
    (_, client_secret) => [{ client_secret }],
    "401 invalid_client: InvalidClient none_presented"
  ],
  [
    "a header of a secret and no name",
    (_, secret) => [{}, basic("", secret)],
    "401 invalid_client: InvalidClient unknown"
  ],
  [
    "a name of no client, and the empty secret",
    () => [{}, basic("A".repeat(22), "")],
    "401 invalid_client: InvalidClient unknown"
  ],
  ["the empty secret", (id) => [{}, basic(id, "")], "401 invalid_client: InvalidClient wrong_method"],
  ["nothing", () => [{}], "401 invalid_client: InvalidClient none_presented"]
]

test.each(rows)("a client that shows %s", (_, shown, outcome) =>
  inWorld(
    function* (world) {
      const client = yield* registerClient(world, { redirect_uris: [], grant_types: ["client_credentials"] })
      const [fields, authorization] = shown(client.id, client.secret ?? "")
      expect(yield* post(world, { grant_type: "client_credentials", ...fields }, authorization)).toBe(outcome)
    },
    { signatures: realSignatures }
  )
)

test("a client without a secret has none to show, but for the empty one", () =>
  inWorld(function* (world) {
    const { id } = yield* registerClient(world, { token_endpoint_auth_method: "none" })
    const fields = { grant_type: "refresh_token", refresh_token: "x" }
    expect(yield* post(world, fields, basic(id, "x"))).toBe("401 invalid_client: InvalidClient wrong_method")
    expect(yield* post(world, fields, basic(id, ""))).toBe("400 invalid_grant: InvalidGrant malformed")
  }))

test("the id of a record is no name of a client that goes by its own", () => {
  const web = new DocumentsWeb()
  const address = web.publish("https://app.example.org/client.json")
  return inWorld(
    function* (world) {
      const app: TestClient = unregistered(address)
      const { refresh } = yield* signInToApp(world, app)
      const [record] = (yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 2 })).values
      const identifier = readClientIdentifier(address)
      expect(identifier._tag === "Some" && clientKey(identifier.value) === record?.id).toBe(true)
      const fields = { grant_type: "refresh_token", refresh_token: refresh }
      expect(yield* post(world, { ...fields, client_id: record?.id })).toBe("401 invalid_client: InvalidClient unknown")
      expect(yield* post(world, { ...fields, client_id: address })).toBe("200")
    },
    { documents: web.layer() }
  )
})

test("a new client's document is fetched at its network's cost, and a wrong one makes no client", () => {
  const web = new DocumentsWeb()
  const address = web.publish("https://app.example.org/client.json")
  const missing = web.publish("https://app.example.org/other.json", { client_id: address })
  const { limiter, taken } = watchedLimiter()
  return inWorld(
    function* (world) {
      const send = (fields: Values, authorization?: string) => {
        taken.length = 0
        return world.send("POST", "/oauth/token", {
          headers: { ...formHeaders, ...(authorization === undefined ? {} : { authorization }) },
          body: form({ grant_type: "refresh_token", refresh_token: "x", ...fields })
        })
      }
      const encoded = encodeURIComponent(missing)
      for (const [fields, authorization] of [
        [{ client_id: missing }, undefined],
        [{}, basic(encoded, "")]
      ] as const) {
        const answer = yield* send(fields, authorization)
        expect([answer.status, jsonOf(answer).error]).toEqual([401, "invalid_client"])
        expect(header(answer, "www-authenticate") === undefined).toBe(authorization === undefined)
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidClient", reason: "document_mismatch" })
      }
      expect((yield* send({ client_id: address })).status).toBe(400)
      expect(taken).toContain("authorize ")
      // With a record, the fetch costs no network anything.
      const app: TestClient = unregistered(address)
      yield* signInToApp(world, app)
      yield* TestClock.adjust("11 minutes")
      web.asked.length = 0
      expect((yield* send({ client_id: address })).status).toBe(400)
      expect([web.asked, taken.filter((share) => share.startsWith("authorize"))]).toEqual([[address], []])
    },
    { documents: web.layer(), limiter }
  )
})
