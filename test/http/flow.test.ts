import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { PlaceId } from "../../core/rules/Id.ts"
import {
  authorizeTarget,
  codeFor,
  companies,
  decide,
  form,
  formHeaders,
  jsonOf,
  redeem,
  refresh,
  registerClient,
  returned,
  signInToApp,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { inWorld, theWorkspace, type World } from "../given/World.ts"

const revocations = (world: World) =>
  world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "GrantRevoked")

/** The mark of the grant that was consented to. */
const grantOf = (world: World) =>
  world.audit.flatMap(({ event }) => (event._tag === "ConsentGiven" ? [event.grant] : []))[0] ?? "none"

describe("the code flow, whole", () => {
  test("takes a stranger from registration to the API and keeps it signed in", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* world.send("GET", authorizeTarget(client, { scope: "api profile" }), { as: "alice" })
      expect(page.status).toBe(200)
      const back = yield* decide(world, page, "approve")
      expect(back.status).toBe(303)
      expect(returned(back).get("state")).toBe("st")
      expect(returned(back).get("iss")).toBe(theWorkspace.issuer)
      const code = returned(back).get("code") ?? ""
      const first = tokensOf(yield* redeem(world, client, code))
      expect(first.scope).toBe("api profile")
      expect((yield* companies(world, first.access)).status).toBe(200)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      expect((yield* companies(world, second.access)).status).toBe(200)
      const retried = tokensOf(yield* refresh(world, client, first.refresh))
      expect(retried.refresh).toBe(second.refresh)
      const replayed = yield* redeem(world, client, code)
      expect(replayed.status).toBe(400)
      expect(jsonOf(replayed).error).toBe("invalid_grant")
      expect((yield* companies(world, second.access)).status).toBe(401)
      expect(revocations(world)).toEqual([{ _tag: "GrantRevoked", grant: grantOf(world), why: "code_replayed" }])
    }))

  test("audits a retry within the grace on its own, compared with the first refresh", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const { refresh: spent } = yield* signInToApp(world, client)
      const send = (peer: string | undefined, agent: string) =>
        Effect.map(
          world.send("POST", "/oauth/token", {
            ...(peer === undefined ? {} : { peer }),
            headers: { ...formHeaders, "user-agent": agent },
            body: form({ client_id: client.id, grant_type: "refresh_token", refresh_token: spent })
          }),
          (response) => tokensOf(response).refresh
        )
      const retries = () => world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "RefreshRetried")
      const successor = yield* send("2001:db8::1", "app/1")
      expect(retries()).toEqual([])
      // One customer has a whole /64.
      for (const [peer, agent] of [
        ["2001:db8::2", "app/1"],
        ["2001:db8:0:1::1", "curl/8"],
        ["2001:db8:0:1::1", "app/1"],
        [undefined, "app/1"]
      ] as const) {
        expect(yield* send(peer, agent)).toBe(successor)
      }
      const of = { _tag: "RefreshRetried", client: client.id, grant: grantOf(world) } as const
      expect(retries()).toEqual([
        { ...of, network: "same", userAgent: "same" },
        { ...of, network: "other", userAgent: "other" },
        { ...of, network: "other", userAgent: "same" },
        { ...of, network: "unknown", userAgent: "same" }
      ])
      expect(world.audit.filter(({ event }) => event._tag === "TokensIssued").length).toBe(6)
      const page = yield* world.storage.list({
        workspace: world.workspace.id,
        kind: "grant",
        owner: "user:alice",
        after: undefined,
        limit: 1
      })
      const kept = JSON.stringify(page.records)
      expect(kept).toContain("rotatedBy")
      for (const clear of ["2001", "db8", "app/1", "curl"]) expect(kept).not.toContain(clear)
    }))

  test("refuses and audits a code that is replayed without its verifier, and ends nothing", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const code = yield* codeFor(world, client)
      const { access } = tokensOf(yield* redeem(world, client, code))
      for (const code_verifier of [undefined, "w".repeat(43)]) {
        const replayed = yield* redeem(world, client, code, { code_verifier })
        expect([replayed.status, jsonOf(replayed).error]).toEqual([400, "invalid_grant"])
      }
      expect(world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))).toEqual([
        "code_replayed_without_verifier",
        "code_replayed_without_verifier"
      ])
      expect(revocations(world)).toEqual([])
      expect((yield* companies(world, access)).status).toBe(200)
      expect((yield* redeem(world, client, code)).status).toBe(400)
      expect((yield* companies(world, access)).status).toBe(401)
    }))

  test("revokes the grant when a spent refresh token comes back after the grace", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInToApp(world, client)
      const second = tokensOf(yield* refresh(world, client, first.refresh))
      yield* TestClock.adjust("60 seconds")
      expect((yield* refresh(world, client, first.refresh)).status).toBe(400)
      expect((yield* refresh(world, client, second.refresh)).status).toBe(400)
      expect((yield* companies(world, second.access)).status).toBe(401)
      expect(revocations(world)).toEqual([{ _tag: "GrantRevoked", grant: grantOf(world), why: "refresh_reused" }])
    }))

  test("gives a machine the workspace's access", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"], redirect_uris: [] })
      const response = yield* tokenRequest(world, client, { grant_type: "client_credentials" })
      expect(response.status).toBe(200)
      expect(jsonOf(response).scope).toBe("api")
      expect(jsonOf(yield* companies(world, String(jsonOf(response).access_token))).as).toEqual({ kind: "workspace" })
    }))

  test("tells an API for whom its caller acts, and where the person let it", () =>
    inWorld(
      function* (world) {
        const { access } = yield* signInToApp(world, yield* registerClient(world))
        expect(jsonOf(yield* companies(world, access)).as).toEqual({ kind: "user", user: "alice", place: "acme" })
      },
      { places: () => [{ id: PlaceId.make("acme"), label: "Acme" }] }
    ))
})
