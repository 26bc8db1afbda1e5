import { test } from "bun:test"
import { Cause, Effect, Exit } from "effect"
import { type Dice, makeDice, seedOfRun } from "../../core/testing/Dice.ts"
import { type Arbitrary, forAll } from "../../core/testing/forAll.ts"
import { patience, runs, seed } from "./runs.ts"

/** A sentence that has to hold however the dice fall: what breaks it is told with the seed that throws it again. */
export const law = (
  sentence: string,
  body: (dice: Dice, seed: number) => Effect.Effect<void>,
  times: number = runs
): void =>
  test(
    sentence,
    async () => {
      for (let run = 0; run < times; run++) {
        const own = seedOfRun(seed, run)
        const exit = await Effect.runPromiseExit(body(makeDice(own), own))
        if (Exit.isFailure(exit)) {
          throw new Error(`See it again with TESSERA_SEED=${own} TESSERA_RUNS=1\n${Cause.pretty(exit.cause)}`)
        }
      }
    },
    patience
  )

/** A sentence about values: what breaks it is shrunk. */
export const lawOf = <A>(
  sentence: string,
  arbitrary: Arbitrary<A>,
  holds: (value: A) => boolean | Effect.Effect<boolean>
): void =>
  test(
    sentence,
    async () => {
      const broken = await Effect.runPromise(forAll(arbitrary, holds, { seed, runs }))
      if (broken !== undefined) throw new Error(broken)
    },
    patience
  )
