import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { signInScopes } from "../../core/rules/Scope.ts"
import { codeFor, jsonOf, redeem, refresh, registerClient, signInToApp, tokensOf } from "../given/flow.ts"
import { inWorld, keyFrom } from "../given/World.ts"

describe("a refresh token that is handed out again", () => {
  test("is the same text though the ring has turned, and another only where its key has left the ring", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const { refresh: spent } = yield* signInToApp(world, client)
        const again = Effect.map(refresh(world, client, spent), (answer) => tokensOf(answer).refresh)
        world.turnRing((ring) => [keyFrom(2), ...ring])
        const successor = yield* again
        expect(yield* again).toBe(successor)
        world.turnRing((ring) => [keyFrom(3), ...ring])
        expect(yield* again).toBe(successor)
        world.turnRing(() => [keyFrom(1), keyFrom(2), keyFrom(3)])
        expect(yield* again).toBe(successor)
        world.turnRing(() => [keyFrom(1), keyFrom(3)])
        const anew = yield* again
        expect(anew).not.toBe(successor)
        expect((yield* refresh(world, client, successor)).status).toBe(400)
        expect((yield* refresh(world, client, anew)).status).toBe(200)
      })
    ))
})

describe("a client that cannot be noted", () => {
  test("has its tokens all the same, and the log says which it is", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const code = yield* codeFor(world, client)
        yield* TestClock.adjust("1 second")
        world.away.add("replace client")
        expect((yield* redeem(world, client, code)).status).toBe(200)
        const about = { workspace: world.workspace.id, client: client.id, fault: "StorageUnavailable" }
        expect(world.log.filter((line) => line.includes(JSON.stringify(about)))).toHaveLength(1)
      })
    ))
})

test("a server that signs nothing gives who asks for an ID token all but that", () =>
  inWorld(
    (world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const answer = yield* redeem(world, client, yield* codeFor(world, client, { scope: "openid api" }))
        expect([answer.status, jsonOf(answer).id_token]).toEqual([200, undefined])
      }),
    { policy: { scopes: signInScopes } }
  ))
