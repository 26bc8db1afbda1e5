import type { Result } from "../measure/Result.ts"
import { median } from "../measure/statistics.ts"

/** Of one core. Above that, more requests per second may have been possible than could be asked for. */
const busy = 0.9

/** What the load generator may have held up; its CPU time per request stands, its requests per second are a least. */
export const generatorBound = (results: ReadonlyArray<Result>): ReadonlyArray<string> =>
  results
    .filter(({ samples }) => median(samples.map(({ generatorLoad }) => generatorLoad)) > busy)
    .map(({ part, workload, subject, store, case: of }) =>
      [`${part}, ${workload}:`, subject, "on", store, of].filter(Boolean).join(" ")
    )
