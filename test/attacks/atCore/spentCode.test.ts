import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { codeFor, companies, redeem, refresh, registerClient, tokensOf } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

describe("a store that fails between a code and its tokens", () => {
  test("costs nobody the code that it has already spent", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const code = yield* codeFor(world, client)
        world.away.add("replace client")
        const answer = yield* redeem(world, client, code)
        const tokens = tokensOf(answer)
        expect((yield* companies(world, tokens.access)).status).toBe(200)
        expect(world.log.join()).toContain("proven")

        world.away.clear()
        yield* refresh(world, client, tokens.refresh)
        const kept = yield* world.storage.get({ workspace: world.workspace.id, kind: "client", id: client.id })
        expect(kept).toMatchObject({ value: { body: { provenAt: expect.any(Number) } } })
      })
    ))
})
