import { expect, test } from "bun:test"
import { Effect } from "effect"
import { makeDice } from "../../core/testing/Dice.ts"
import { shrink } from "../../core/testing/script/shrink.ts"

const smaller = (one: number): ReadonlyArray<number> => (one > 0 ? [Math.floor(one / 2), one - 1] : [])

test("takes out all that is not needed, and makes the rest simple", async () => {
  const dice = makeDice(7)
  const long = Array.from({ length: 200 }, () => dice.under(1000))
  const fails = (list: ReadonlyArray<number>) => {
    const at = list.findIndex((one) => one >= 300)
    return Effect.succeed(at >= 0 && list.slice(at + 1).some((one) => one >= 500))
  }

  expect(await Effect.runPromise(shrink(long, fails, smaller))).toEqual([300, 500])
})

test("keeps what fails only as a whole", async () => {
  const whole = [3, 1, 4, 1, 5]

  expect(
    await Effect.runPromise(
      shrink(
        whole,
        (list) => Effect.succeed(list.length === 5),
        () => []
      )
    )
  ).toEqual(whole)
})

test("the same seed throws the same numbers", () => {
  const throws = (seed: number) => {
    const dice = makeDice(seed)
    return Array.from({ length: 50 }, () => dice.under(1_000_000))
  }

  expect(throws(42)).toEqual(throws(42))
  expect(throws(42)).not.toEqual(throws(43))
})
