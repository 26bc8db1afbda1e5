import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
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
  refresh,
  registerClient,
  revokeBy,
  signInToApp,
  tokensOf,
  unregistered
} from "../given/flow.ts"
import { inWorld, keyFrom } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"

describe("a refresh token that is handed out again", () => {
  test("is the same text though the ring has turned, and another only where its key has left the ring", () =>
    inWorld(function* (world) {
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
    }))
})

describe("a client that cannot be noted", () => {
  test("has its tokens all the same, and the log says which it is", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      yield* TestClock.adjust("1 second")
      world.away.add("replace client")
      expect((yield* redeem(world, client, code)).status).toBe(200)
      const about = { workspace: world.workspace.id, client: client.id, fault: "StorageUnavailable" }
      expect(world.log.filter((line) => line.includes(JSON.stringify(about)))).toHaveLength(1)
    }))
})

describe("a token that is looked into", () => {
  const web = new DocumentsWeb()
  const address = web.publish("https://app.example.org/client.json")
  const documented = unregistered(address)

  test("says what it is, whose grant it is of, and what its client goes by", () =>
    inWorld(
      function* (world) {
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
          expect(yield* usage.lastUse("grant", workspace.id, grant.id)).toBe(yield* currentInstant)
          const tokenAt = yield* usage.lastUse("client", workspace.id, grant.client)
          expect(tokenAt).toBe(grant.refresh.issuedAt)
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
        expect(used).toBe(yield* currentInstant)
        for (const text of ["", "tsr_at_", "nothing"]) {
          expect(yield* Effect.flip(known(text))).toMatchObject({ _tag: "InvalidToken" })
        }
      },
      { documents: web.layer() }
    ))
})

test("a server that signs nothing gives who asks for an ID token all but that", () =>
  inWorld(
    function* (world) {
      const client = yield* registerClient(world)
      const answer = yield* redeem(world, client, yield* codeFor(world, client, { scope: "openid api" }))
      expect([answer.status, jsonOf(answer).id_token]).toEqual([200, undefined])
    },
    { policy: { scopes: signInScopes } }
  ))

describe("shares of the limits", () => {
  const publicOne = { token_endpoint_auth_method: "none" } as const

  const unproven = "public_client me "
  const rows: ReadonlyArray<readonly [step: string, ofProven: ReadonlyArray<string>, ofPublic: ReadonlyArray<string>]> =
    [
      ["a code", [], ["grant me G"]],
      ["the same code again", [], ["grant me G"]],
      ["a code of another", [], ["grant me G", unproven]],
      ["no code", [], [unproven]],
      ["a refresh token", ["grant me G"], ["grant me G"]],
      ["a refresh token of another", ["grant me G"], ["grant me G", unproven]],
      ["no refresh token", [], [unproven]],
      ["its token back", [], ["grant me G"]],
      ["a token of another back", [], ["grant me G", unproven]],
      ["a code back", [], [unproven]],
      ["nothing of ours back", [], [unproven]]
    ]

  for (const [what, metadata, expected] of [
    ["a client that proves itself", {}, rows.map(([step, own]) => [step, ["client me", ...own]] as const)],
    ["a public one", publicOne, rows.map(([step, , own]) => [step, own] as const)]
  ] as const)
    test(`are taken of a grant and of the network as the text that ${what} shows is worth`, () => {
      const { limiter, taken } = watchedLimiter()
      return inWorld(
        function* (world) {
          const client = yield* registerClient(world, metadata)
          const other = yield* registerClient(world, metadata)
          const mine = yield* signInToApp(world, client)
          const theirs = yield* signInToApp(world, other)
          const code = yield* codeFor(world, client)
          const theirCode = yield* codeFor(world, other)
          const shares: Record<string, ReadonlyArray<string>> = {}
          const takes = Effect.fnUntraced(function* (step: string, asked: Effect.Effect<unknown>) {
            taken.length = 0
            yield* asked
            shares[step] = taken.map((one) => one.replace(client.id, "me").replace(/ [\w-]{8}$/, " G"))
          })
          const revoke = (token: string) => revokeBy(world, client, token)
          yield* takes("a code", redeem(world, client, code))
          yield* takes("the same code again", redeem(world, client, code))
          yield* takes("a code of another", redeem(world, client, theirCode))
          yield* takes("no code", redeem(world, client, "x"))
          yield* takes("a refresh token", refresh(world, client, mine.refresh))
          yield* takes("a refresh token of another", refresh(world, client, theirs.refresh))
          yield* takes("no refresh token", refresh(world, client, "x"))
          yield* takes("its token back", revoke(mine.access))
          yield* takes("a token of another back", revoke(theirs.access))
          yield* takes("a code back", revoke(yield* codeFor(world, client)))
          yield* takes("nothing of ours back", revoke("x"))
          expect<unknown>(Object.entries(shares)).toEqual(expected)
        },
        { limiter }
      )
    })
})
