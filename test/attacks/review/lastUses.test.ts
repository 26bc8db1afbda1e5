import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { Instant } from "../../../core/rules/Instant.ts"
import { inWorld, t0 } from "../../given/World.ts"

describe("noting last uses", () => {
  test("goes on past one record that cannot be read", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const { usage } = world.parts
        const key = (id: string) => ({ workspace: world.workspace.id, kind: "usage", id: `grant:${id}` }) as const
        // As a later release might write it.
        yield* world.storage.insert({ ...key("one"), owner: "usage", expiresAt: null, body: { _v: 99, _by: "later" } })
        const now = Instant.make(t0)
        for (const id of ["one", "two", "three"]) usage.saw("grant", world.workspace.id, id, now)

        expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
        expect((yield* Effect.result(usage.flush))._tag).toBe("Failure")
        expect(Option.isSome(yield* world.storage.get(key("two")))).toBe(true)
        expect(Option.isSome(yield* world.storage.get(key("three")))).toBe(true)
      })
    ))
})
