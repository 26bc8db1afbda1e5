import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { bearing, header, jsonOf, registerClient, signInToApp, tokenRequest } from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const userinfo = (world: World, token: string, method = "GET") =>
  world.send(method, "/oauth/userinfo", { headers: bearing(token) })

describe("userinfo", () => {
  test("is the profile of the person that the token speaks for, by GET and by POST", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" })
        for (const method of ["GET", "POST"]) {
          const response = yield* userinfo(world, access, method)
          expect([response.status, jsonOf(response)]).toEqual([200, { sub: "alice", name: "Mx alice" }])
          expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
        }
      })
    ))

  test("needs the scope profile", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "api" })
        const response = yield* userinfo(world, access)
        expect([response.status, jsonOf(response).error]).toEqual([403, "insufficient_scope"])
        expect(header(response, "www-authenticate")).toContain('scope="profile"')
      })
    ))

  test("has nobody to speak of where no person is behind the token", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const key = yield* world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
        const response = yield* userinfo(world, world.reveal(key.text))
        expect([response.status, jsonOf(response).error]).toEqual([403, "insufficient_scope"])
        const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
        const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" }))
        expect((yield* userinfo(world, String(machine.access_token))).status).toBe(403)
      })
    ))

  test("knows the token no more once the person has left", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" }, "gone")
        const response = yield* userinfo(world, access)
        expect([response.status, jsonOf(response).error]).toEqual([401, "invalid_token"])
      })
    ))
})
