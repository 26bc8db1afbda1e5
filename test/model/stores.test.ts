import { expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { everyStore } from "../processes/Store.ts"
import { playModel } from "./playModel.ts"
import { readWish } from "./Wish.ts"

test.each(everyStore)("npm run model plays over %s by its URL, twice at the same time", (_name, open) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* open
    const seeds = [1, 2]
    const agreed = yield* Effect.forEach(
      seeds,
      (seed) =>
        playModel(
          Result.getOrThrow(readWish(["--scripts", "6", "--seed", `${seed}`, "--store", databaseUrl], () => 0)),
          () => undefined
        ),
      { concurrency: "unbounded" }
    )
    expect(agreed).toEqual([true, true])
  }).pipe(Effect.scoped, Effect.runPromise)
)
