import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { deleteClient, registerClient, setClientEnabled } from "../../core/engine/administerClients.ts"
import { byOwner, passing } from "../given/auditContext.ts"
import {
  authorizeTarget,
  bearing,
  companies,
  jsonHeaders,
  jsonOf,
  redirectUri,
  signInToApp,
  type TestClient,
  text,
  tokenRequest
} from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

const unverified = "This application registered itself"

const clientBy = Effect.fnUntraced(function* (world: World, madeBy: "itself" | "owner") {
  const metadata = {
    redirect_uris: [redirectUri],
    client_name: "App",
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", "client_credentials"]
  }
  const request = yield* Effect.fromResult(readRegistration(world.services, JSON.stringify(metadata)))
  const made = yield* registerClient(world.services, madeBy === "owner" ? byOwner(world) : passing(world), request)
  const client: TestClient = {
    id: made.client.id,
    secret: made.secret && world.reveal(made.secret),
    redirectUri,
    registrationUri: `/oauth/register/${made.client.id}`,
    registrationToken: world.reveal(made.registrationToken)
  }
  return { made: made.client, client, metadata }
})

describe("how a client came to be", () => {
  test("consent calls a client unverified that registered itself, and not one that an owner made", () =>
    inWorld(function* (world) {
      for (const madeBy of ["itself", "owner"] as const) {
        const { client } = yield* clientBy(world, madeBy)
        const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        expect(page.status).toBe(200)
        expect(page.body.includes(unverified)).toBe(madeBy === "itself")
      }
    }))

  test("what an owner made and then changed itself is unverified again", () =>
    inWorld(function* (world) {
      const { client, metadata } = yield* clientBy(world, "owner")
      const changed = yield* world.send("PUT", client.registrationUri, {
        headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
        body: JSON.stringify({ ...metadata, client_id: client.id, client_name: "Your Bank" })
      })
      expect(changed.status).toBe(200)
      const page = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
      expect(page.body).toContain(unverified)
    }))

  test("what an owner made is not forgotten for never having been used", () =>
    inWorld(function* (world) {
      const own = yield* clientBy(world, "owner")
      const stranger = yield* clientBy(world, "itself")
      yield* TestClock.adjust("31 days")
      yield* world.storage.sweep(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 100)
      expect((yield* world.send("GET", authorizeTarget(own.client), { as: "alice" })).status).toBe(200)
      expect((yield* world.send("GET", authorizeTarget(stranger.client), { as: "alice" })).status).toBe(400)
    }))
})

describe("a client", () => {
  test("that is deleted loses what people and the workspace gave it", () =>
    inWorld(function* (world) {
      const { made, client } = yield* clientBy(world, "owner")
      const { access } = yield* signInToApp(world, client)
      const own = text(jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" })).access_token)
      for (const token of [access, own]) expect((yield* companies(world, token)).status).toBe(200)
      expect(yield* deleteClient(world.services, byOwner(world), made.id)).toBe("deleted")
      for (const token of [access, own]) expect((yield* companies(world, token)).status).toBe(401)
      expect(yield* world.services.grantRecords.get(world.workspace.id, made.workspaceGrant)).toBeUndefined()
      expect(yield* deleteClient(world.services, byOwner(world), made.id)).toBe("unknown")
    }))

  test("that is switched off and on again has back what it had", () =>
    inWorld(function* (world) {
      const { made, client } = yield* clientBy(world, "itself")
      const { access } = yield* signInToApp(world, client)
      yield* setClientEnabled(world.services, byOwner(world), made.id, "disabled")
      expect((yield* companies(world, access)).status).toBe(401)
      yield* setClientEnabled(world.services, byOwner(world), made.id, "enabled")
      expect((yield* companies(world, access)).status).toBe(200)
    }))
})
