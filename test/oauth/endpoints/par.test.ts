import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  authorizeTarget,
  challenge,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  provenClient,
  redirectUri,
  type TestClient,
  text,
  type Values
} from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const asked = (client: TestClient): Values => ({
  response_type: "code",
  client_id: client.id,
  redirect_uri: client.redirectUri,
  code_challenge: challenge,
  code_challenge_method: "S256",
  state: "st"
})

const push = (world: World, client: TestClient, fields: Values = {}) =>
  world.send("POST", "/oauth/par", {
    headers: formHeaders,
    body: form({ ...asked(client), client_secret: client.secret, ...fields })
  })

const visitTarget = (client: Pick<TestClient, "id">, requestUri: string, more: Values = {}) =>
  `/oauth/authorize?${form({ client_id: client.id, request_uri: requestUri, ...more })}`

const pushedUri = (world: World, client: TestClient, fields: Values = {}) =>
  Effect.map(push(world, client, fields), (answer) => text(jsonOf(answer).request_uri))

describe("a pushed request", () => {
  test("is kept, approved once and redeemed", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* provenClient(world)
        const answer = yield* push(world, client)
        expect(answer.status).toBe(201)
        expect(jsonOf(answer).expires_in).toBe(60)
        const target = visitTarget(client, text(jsonOf(answer).request_uri))
        expect(text(jsonOf(answer).request_uri)).toMatch(/^urn:ietf:params:oauth:request_uri:[A-Za-z0-9_-]{72}$/)
        for (const _ of [1, 2]) expect((yield* world.send("GET", target, { as: "alice" })).status).toBe(200)
        const page = yield* world.send("GET", target, { as: "alice" })
        const back = yield* decide(world, page, "approve")
        const to = new URL(header(back, "location") ?? "")
        expect(to.origin + to.pathname).toBe(redirectUri)
        expect(to.searchParams.get("state")).toBe("st")
        const again = yield* world.send("GET", target, { as: "alice" })
        expect(again.status).toBe(400)
        expect(again.body).toContain("no longer valid")
      })
    ))

  test("lasts to the second, and its visit as long as a consent page", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* provenClient(world)
        const target = visitTarget(client, yield* pushedUri(world, client))
        yield* TestClock.adjust(59_999)
        const signIn = yield* world.send("GET", target)
        const comeBack = new URL(header(signIn, "location") ?? "", "https://auth.example.com").searchParams.get(
          "return_to"
        )
        yield* TestClock.adjust(1)
        expect((yield* world.send("GET", target, { as: "alice" })).status).toBe(400)
        yield* TestClock.adjust(14 * 60_000)
        const page = yield* world.send("GET", comeBack ?? "", { as: "alice" })
        expect(page.status).toBe(200)
        const back = yield* decide(world, page, "approve")
        expect(new URL(header(back, "location") ?? "").searchParams.get("code")).not.toBeNull()
        expect((yield* world.send("GET", comeBack ?? "", { as: "alice" })).status).toBe(400)
      })
    ))

  test("is asked of a client that registered for it", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* provenClient(world, { require_pushed_authorization_requests: true })
        const back = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
        expect(new URL(header(back, "location") ?? "").searchParams.get("error")).toBe("invalid_request")
      })
    ))
})
