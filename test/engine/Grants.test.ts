import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  codeFor,
  companies,
  jsonOf,
  redeem,
  redirectUri,
  refresh,
  registerClient,
  signInToApp,
  tokensOf
} from "../given/flow.ts"
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

describe("a token that is looked into", () => {
  const web = new DocumentsWeb()
  const address = web.publish("https://app.example.org/client.json")
  const documented = { id: address, secret: undefined, redirectUri, registrationUri: "", registrationToken: "" }

  test("says what it is, whose grant it is of, and what its client goes by", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const { grants, usage } = world.services
          const { workspace } = world
          const known = (token: string) => grants.examine(workspace, token)
          for (const client of [yield* registerClient(world), documented]) {
            const tokens = yield* signInToApp(world, client)
            const [grant] = (yield* grants.ofUser(workspace.id, UserId.make("alice"), { after: undefined, limit: 9 }))
              .values
            if (grant?._tag !== "Active") throw new Error("it is there")
            expect<unknown>(yield* known(tokens.refresh)).toEqual({
              kind: "refresh",
              token: {
                kind: "refresh",
                grant: grant.id,
                generation: grant.refresh.generation,
                expiresAt: grant.refresh.expiresAt
              },
              grant,
              client: client.id
            })
            const access = yield* known(tokens.access)
            expect<unknown>(access).toMatchObject({
              kind: "access",
              token: { kind: "access", grant: grant.id },
              principal: { grant: grant.id, client: client.id, user: "alice" }
            })
            yield* TestClock.adjust("2 minutes")
            expect((yield* companies(world, tokens.access)).status).toBe(200)
            const now = Option.some(yield* currentInstant)
            expect(yield* usage.lastUse("grant", workspace.id, grant.id)).toEqual(now)
            const tokenAt = yield* usage.lastUse("client", workspace.id, grant.client)
            expect(Option.getOrThrow(tokenAt)).toBe(grant.refresh.issuedAt)
            yield* grants.revokeGrant(workspace.id, grant.id, "by_user")
            for (const token of [tokens.refresh, tokens.access]) {
              expect(yield* Effect.flip(known(token))).toMatchObject({ _tag: "InvalidToken", reason: "revoked" })
            }
            yield* grants.removeGrant(workspace.id, grant.id)
          }
          const code = yield* codeFor(world, yield* registerClient(world))
          expect(yield* Effect.flip(known(code))).toMatchObject({ _tag: "InvalidToken", reason: "wrong_kind" })
          const made = yield* grants.createKey(workspace.id, { name: "Export", expiresAt: null })
          const key = world.reveal(made.text)
          expect<unknown>(yield* known(key)).toMatchObject({ kind: "key", principal: { grant: made.grant.id } })
          yield* world.guard("/x", { scopes: [] }, { authorization: `Bearer ${key}` })
          const used = yield* usage.lastUse("grant", workspace.id, made.grant.id)
          expect(used).toEqual(Option.some(yield* currentInstant))
          for (const text of ["", "tsr_at_", "nothing"]) {
            expect(yield* Effect.flip(known(text))).toMatchObject({ _tag: "InvalidToken" })
          }
        }),
      { documents: web.layer() }
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
