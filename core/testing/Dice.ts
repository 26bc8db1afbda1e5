import { drawFrom } from "./Draw.ts"

/** Chance for scripts: what a seed threw once, it throws again. */
export interface Dice {
  /** A whole number from 0 up to, not including, `below`. */
  readonly under: (below: number) => number
  /** True in `percent` of a hundred throws. */
  readonly chance: (percent: number) => boolean
  readonly pick: <A>(of: readonly [A, ...ReadonlyArray<A>]) => A
  /** One of what is offered, by weight; `undefined` where nothing has a weight. */
  readonly weighted: <A>(offers: ReadonlyArray<readonly [weight: number, value: A]>) => A | undefined
}

export const makeDice = (seed: number): Dice => {
  const { below, oneOf } = drawFrom(`dice ${seed}`)
  return {
    under: below,
    chance: (percent) => below(100) < percent,
    pick: oneOf,
    weighted: (offers) => {
      let rest = below(offers.reduce((sum, [weight]) => sum + weight, 0))
      for (const [weight, value] of offers) {
        if (rest < weight) return value
        rest -= weight
      }
      return undefined
    }
  }
}

/** A seed of its own for each of a suite's runs; the first run has the suite's, so that one seed is enough to repeat it. */
export const seedOfRun = (seed: number, run: number): number =>
  run === 0 ? seed : drawFrom(`run ${run} of ${seed}`).below(2 ** 32)
