import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { decodeJwt } from "jose"
import { ScopeName, ScopeRegistry, signInScopes } from "../../../core/rules/Scope.ts"
import {
  bearing,
  form,
  formHeaders,
  header,
  jsonOf,
  registerClient,
  signInToApp,
  text,
  tokenRequest
} from "../../given/flow.ts"
import { identify, signsIn } from "../../given/openId.ts"
import { inWorld, type World } from "../../given/World.ts"

const userinfo = (world: World, token: string, method = "GET") =>
  world.send(method, "/oauth/userinfo", { headers: bearing(token) })

describe("userinfo", () => {
  test("is the profile of the person that the token speaks for, by GET and by POST", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" })
      for (const method of ["GET", "POST"]) {
        const response = yield* userinfo(world, access, method)
        expect([response.status, jsonOf(response)]).toEqual([200, { sub: "alice", name: "Mx alice" }])
        expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      }
    }))

  test("needs the scope profile", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "api" })
      const response = yield* userinfo(world, access)
      expect([response.status, jsonOf(response).error]).toEqual([403, "insufficient_scope"])
      expect(header(response, "www-authenticate")).toContain('scope="profile"')
    }))

  test("refuses a token without a person behind it", () =>
    inWorld(function* (world) {
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
      const response = yield* userinfo(world, world.reveal(key.text))
      expect([response.status, jsonOf(response).error]).toEqual([403, "insufficient_scope"])
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" }))
      expect((yield* userinfo(world, String(machine.access_token))).status).toBe(403)
    }))

  test("knows the token no more once the person has left", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" }, "gone")
      const response = yield* userinfo(world, access)
      expect([response.status, jsonOf(response).error]).toEqual([401, "invalid_token"])
    }))

  test("is told for a token in a form, where no other way brings one", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" })
      const post = (body: string, headers: Readonly<Record<string, string>> = formHeaders) =>
        Effect.map(world.send("POST", "/oauth/userinfo", { headers, body }), (answer) => {
          const event = world.audit.at(-1)?.event
          const reason = event?._tag === "Refused" ? event.reason : undefined
          return [answer.status, answer.status === 200 ? jsonOf(answer).sub : reason]
        })
      const shown = form({ access_token: access })
      expect(yield* post(shown)).toEqual([200, "alice"])
      expect(yield* post(shown, { ...formHeaders, authorization: "" })).toEqual([200, "alice"])
      expect(yield* post("", { ...formHeaders, ...bearing(access) })).toEqual([200, "alice"])
      expect(yield* post(shown, { ...formHeaders, ...bearing(access) })).toEqual([400, "two_client_credentials"])
      expect(yield* post(`${shown}&${shown}`)).toEqual([400, "repeated_parameter"])
      expect(yield* post(form({ access_token: "x" }))).toEqual([401, "malformed"])
      // Nothing but a form has one, and nothing but a POST has a form.
      for (const [method, headers] of [
        ["POST", { "content-type": "text/plain" }],
        ["GET", formHeaders]
      ] as const) {
        expect((yield* world.send(method, "/oauth/userinfo", { headers, body: shown })).status).toBe(401)
      }
    }))

  test("and an ID token tell what a host says by a standard name, whatever else it calls so", () =>
    inWorld(
      function* (world) {
        const claims = JSON.stringify({ id_token: { name: null } })
        const { access_token, id_token } = yield* identify(world, yield* registerClient(world), { claims })
        expect(jsonOf(yield* userinfo(world, text(access_token)))).toEqual({ sub: "alice", name: "Mx alice" })
        expect(decodeJwt(text(id_token)).name).toBe("Mx alice")
      },
      { ...signsIn, profile: { more: { name: "Mx bob", sub: "bob" } } }
    ))

  test("tells what a scope covers that another implies", () => {
    const whole = { name: ScopeName.make("whole"), meaning: "All", needsUser: true, byDefault: false }
    const scopes = ScopeRegistry.make([...signInScopes, { ...whole, implies: [ScopeName.make("email")] }])
    const told = { email: "alice@alice.example" }
    return inWorld(
      function* (world) {
        const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "whole" })
        expect(jsonOf(yield* userinfo(world, access))).toEqual({ sub: "alice", ...told })
      },
      { ...signsIn, policy: { scopes }, profile: told }
    )
  })

  test("names the scope to ask for, and says to whom it would tell", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client, { scope: "api" })
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
      for (const [token, refusal, challenge] of [
        [access, "InsufficientScope", 'scope="openid"'],
        [world.reveal(key.text), "WrongCaller", 'error="insufficient_scope"']
      ] as const) {
        const answer = yield* userinfo(world, token)
        expect([answer.status, world.audit.at(-1)?.event]).toMatchObject([403, { refusal }])
        expect(header(answer, "www-authenticate")).toContain(challenge)
      }
    }, signsIn))
})
