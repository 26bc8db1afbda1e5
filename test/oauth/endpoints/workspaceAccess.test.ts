import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { answerWorkspaceAccess } from "../../../core/engine/administerClients.ts"
import { readClientId } from "../../../core/rules/Id.ts"
import { byOwner } from "../../given/auditContext.ts"
import {
  bearing,
  companies,
  form,
  formHeaders,
  introspectBy,
  jsonHeaders,
  jsonOf,
  redirectUri,
  registerClient,
  type TestClient,
  text,
  tokenRequest
} from "../../given/flow.ts"
import { inWorld, type Steps, theWorkspace, type World } from "../../given/World.ts"

const machine = { client_name: "Job", grant_types: ["authorization_code", "client_credentials"] }
const peer = "203.0.113.9"

const inApproved = <A>(body: (world: World) => Steps<A>) => inWorld(body, { policy: { workspaceAccess: "approved" } })

const ask = (world: World, client: TestClient) => tokenRequest(world, client, { grant_type: "client_credentials" })

const idOf = (client: TestClient) => Effect.fromOption(readClientId(client.id))

const answer = (world: World, client: TestClient, change: "approved" | "refused") =>
  Effect.flatMap(idOf(client), (id) => answerWorkspaceAccess(world.services, byOwner(world), id, change))

const stored = (world: World, client: TestClient) =>
  Effect.flatMap(idOf(client), (id) => world.services.clients.findStored(world.workspace.id, id))

const update = (world: World, client: TestClient, metadata: Readonly<Record<string, unknown>>) =>
  world.send("PUT", new URL(client.registrationUri).pathname, {
    headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
    peer: "2001:db8::1",
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
      ...machine,
      client_id: client.id,
      ...metadata
    })
  })

const unapproved = {
  error: "unauthorized_client",
  error_description: "An owner of the workspace has to approve this application for access without a person."
}

describe("access without a person, where an owner approves it", () => {
  test("is registered for as ever, and begins with the approval", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine, { peer })
      expect((yield* stored(world, client))?.workspaceAccess).toMatchObject({ network: peer, answer: null })
      const before = yield* ask(world, client)
      expect([before.status, jsonOf(before)]).toEqual([400, unapproved])
      expect(yield* answer(world, client, "approved")).toBe("done")
      const after = yield* ask(world, client)
      expect(after.status).toBe(200)
      expect((yield* companies(world, text(jsonOf(after).access_token))).status).toBe(200)
      const refusals = world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))
      expect(refusals).toEqual(["approval_awaited"])
    }))

  test("ends with the approval: no new tokens, and those that are out are good for nothing", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      yield* answer(world, client, "approved")
      const token = text(jsonOf(yield* ask(world, client)).access_token)
      const isActive = Effect.map(introspectBy(world, client, token), (response) => jsonOf(response).active)
      expect(yield* isActive).toBe(true)
      expect(yield* answer(world, client, "refused")).toBe("done")
      expect((yield* companies(world, token)).status).toBe(401)
      expect(yield* isActive).toBe(false)
      expect(jsonOf(yield* ask(world, client))).toEqual(unapproved)
      expect(yield* answer(world, client, "approved")).toBe("done")
      expect((yield* companies(world, token)).status).toBe(200)
      const by = "command line"
      expect(world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "ClientChanged")).toEqual(
        (["approved", "refused", "approved"] as const).map((change) => ({
          _tag: "ClientChanged",
          client: client.id,
          change,
          by
        }))
      )
    }))

  test("is asked for anew by a registration that changed, and not by one that says the same", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      yield* answer(world, client, "approved")
      expect((yield* update(world, client, {})).status).toBe(200)
      const token = text(jsonOf(yield* ask(world, client)).access_token)
      expect((yield* update(world, client, { client_name: "Your Bank" })).status).toBe(200)
      expect(jsonOf(yield* ask(world, client))).toEqual(unapproved)
      expect((yield* companies(world, token)).status).toBe(401)
      expect((yield* stored(world, client))?.workspaceAccess).toMatchObject({
        network: "2001:db8:0:0::/64",
        answer: null
      })
    }))

  test("is not carried over to a grant type that came later", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      yield* answer(world, client, "approved")
      yield* update(world, client, { grant_types: ["authorization_code"] })
      expect(yield* answer(world, client, "approved")).toBe("not_asked")
      yield* update(world, client, {})
      expect(jsonOf(yield* ask(world, client))).toEqual(unapproved)
    }))

  test("is answered once, for a client that asked", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      const person = yield* registerClient(world)
      expect(yield* answer(world, client, "refused")).toBe("done")
      expect(yield* answer(world, client, "refused")).toBe("was_so")
      expect(yield* answer(world, person, "approved")).toBe("not_asked")
      expect(yield* answer(world, { ...client, id: "A".repeat(22) }, "approved")).toBe("unknown")
      expect(world.audit.filter(({ event }) => event._tag === "ClientChanged")).toHaveLength(1)
    }))

  test("is for no other client: a wrong secret is told nothing of the approval", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      const guessed = yield* ask(world, { ...client, secret: `${client.secret}x` })
      expect([guessed.status, jsonOf(guessed).error]).toEqual([401, "invalid_client"])
    }))
})

describe("client credentials are for servers", () => {
  const from = (world: World, client: TestClient, origin: string, fields: Readonly<Record<string, string>> = {}) =>
    world.send("POST", "/oauth/token", {
      headers: { ...formHeaders, origin },
      body: form({ client_id: client.id, client_secret: client.secret, grant_type: "client_credentials", ...fields })
    })

  test("a page of another origin gets none, whatever it says of itself", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const { issuer } = theWorkspace
      for (const origin of ["https://evil.example", "null", "", `${issuer}:8443`, `${issuer}, ${issuer}`]) {
        const answered = yield* from(world, client, origin)
        expect([origin, answered.status, jsonOf(answered).error]).toEqual([origin, 400, "unauthorized_client"])
      }
      expect((yield* from(world, client, issuer)).status).toBe(200)
      expect((yield* ask(world, client)).status).toBe(200)
    }))

  test("a page of another origin gets what a person allowed, as ever", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, machine)
      const code = { grant_type: "authorization_code", code: "x", redirect_uri: redirectUri }
      expect(jsonOf(yield* from(world, client, "https://spa.example", code)).error).toBe("invalid_grant")
    }))
})
