import { drawFrom } from "../../../core/testing/Draw.ts"

/** So many numbers below a bound, each once, by chance as `pgbench` takes them, and the same in every run. */
export const drawNumbers = (count: number, bound: number): ReadonlyArray<number> => {
  const draw = drawFrom("grants")
  const numbers = new Set<number>()
  while (numbers.size < Math.min(count, bound)) numbers.add(draw.below(bound))
  return [...numbers]
}
