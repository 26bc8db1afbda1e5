import { expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { recordsOf } from "../../core/engine/Records.ts"
import { makeUsage, usageKind } from "../../core/engine/Usage.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { inWorld, t0, type World } from "../given/World.ts"

const usageOf = (world: World) => makeUsage(recordsOf(world.storage, usageKind), world.parts.entropy)
const start = Instant.make(t0)

test("what is used all the time is noted once a minute", () =>
  inWorld((world) =>
    Effect.gen(function* () {
      const usage = usageOf(world)
      const noted = (by: number) => {
        usage.saw("grant", world.workspace.id, "one", later(start, by))
        return usage.lastUse("grant", world.workspace.id, "one")
      }
      expect(yield* noted(0)).toEqual(Option.some(start))
      expect(yield* noted(59_999)).toEqual(Option.some(start))
      expect(yield* noted(60_000)).toEqual(Option.some(later(start, 60_000)))
    })
  ))

test("of more than a hundred thousand things at once the last are left for later, and those that are known go on", () =>
  inWorld((world) =>
    Effect.gen(function* () {
      const usage = usageOf(world)
      for (let n = 0; n <= 100_000; n++) usage.saw("grant", world.workspace.id, `g${n}`, start)
      const lastUse = (n: number) => usage.lastUse("grant", world.workspace.id, `g${n}`)
      expect([yield* lastUse(99_999), yield* lastUse(100_000)]).toEqual([Option.some(start), Option.none()])
      usage.saw("grant", world.workspace.id, "g0", later(start, 60_000))
      expect(yield* lastUse(0)).toEqual(Option.some(later(start, 60_000)))
    })
  ))
