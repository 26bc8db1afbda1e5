import { Schema } from "effect"
import { type Sample, workloads } from "../Plan.ts"
import { type Measured, median, type Result } from "./Report.ts"

/** What a line of the budget is about. */
const figures = [
  "cpu",
  "databaseCpu",
  "totalCpu",
  "perSecond",
  "p50",
  "capacity",
  "memory",
  "memoryTrend",
  "rows"
] as const
type Figure = (typeof figures)[number]

/** "2 processes" are two; everything else is one. */
const processesOf = (result: Result): number => Number(/^(\d+) process/.exec(result.case)?.[1] ?? 1)

const figureOf = (figure: Figure, result: Result, sample: Sample): number => {
  switch (figure) {
    case "cpu":
    case "databaseCpu":
    case "perSecond":
    case "p50":
    case "memory":
      return sample[figure]
    case "totalCpu":
      return sample.cpu + sample.databaseCpu
    // What the processes would answer in a second that is theirs alone: the load generator takes some of it here.
    case "capacity":
      return (1e6 * processesOf(result)) / sample.cpu
    case "memoryTrend":
      return sample.memory
    case "rows":
      return sample.rows ?? Number.NaN
  }
}

/** The same for all samples together, where a line has nothing to compare with. */
const overall = (figure: Figure, result: Result): number => {
  const values = result.samples.map((sample) => figureOf(figure, result, sample))
  if (figure === "memory" || figure === "rows") return Math.max(...values)
  if (figure !== "memoryTrend") return median(values)
  const third = Math.max(1, Math.floor(values.length / 3))
  return median(values.slice(-third)) / median(values.slice(0, third))
}

const inWords: { readonly [figure in Figure]: string } = {
  cpu: "CPU",
  databaseCpu: "database CPU",
  totalCpu: "CPU with database",
  perSecond: "per second",
  p50: "median latency",
  capacity: "per second of CPU",
  memory: "most memory, MB",
  memoryTrend: "memory, end to start",
  rows: "records"
}

const mostDigits = 6

/** Short, but on the same side of its bound as the ratio itself: 0.8482 is no "0.85, at least 0.85". */
export const ratioText = (ratio: number | undefined, holds: (ratio: number) => boolean): string => {
  if (ratio === undefined || Number.isNaN(ratio)) return "not measured"
  const enough = (digits: number): string => {
    const text = ratio.toFixed(digits)
    return holds(Number(text)) === holds(ratio) || digits >= mostDigits ? text : enough(digits + 1)
  }
  return enough(ratio >= 10 ? 0 : ratio < 0.1 ? 3 : 2)
}

const Which = Schema.Struct({
  subject: Schema.optionalKey(Schema.String),
  store: Schema.optionalKey(Schema.String),
  case: Schema.optionalKey(Schema.String)
})
type Which = typeof Which.Type

/** A figure of ours, over that of whatever it is compared with, and how much that may be. */
const Line = Schema.Struct({
  figure: Schema.Literals(figures),
  part: Schema.String,
  workloads: Schema.Array(Schema.Literals(workloads)),
  ours: Which,
  theirs: Schema.optionalKey(Which),
  /** Who does nothing but what nobody can leave out: how near anybody could come. */
  floor: Schema.optionalKey(Which),
  /** What the floor is compared with, where that is another floor. */
  floorTo: Schema.optionalKey(Which),
  atMost: Schema.optionalKey(Schema.Finite),
  atLeast: Schema.optionalKey(Schema.Finite),
  /** It takes minutes, and `--check` leaves it out. */
  wholeRunOnly: Schema.optionalKey(Schema.Boolean),
  /** What is wanted, where the bound is no more than what is held: the line falls short of it. */
  aim: Schema.optionalKey(Schema.Finite),
  /** What was reached when the bound was set: the middle of several runs. */
  measured: Schema.optionalKey(Schema.Finite)
})
type Line = typeof Line.Type

export const Budget = Schema.Array(Line)
export type Budget = typeof Budget.Type
export const readBudget = Schema.decodeUnknownSync(Budget)

/** `unclear`: beyond the bound, but the rounds lie so far apart that the true ratio may be within it. */
type Outcome = "holds" | "unclear" | "short"

export interface Verdict {
  readonly part: string
  readonly what: string
  readonly workload: string
  readonly figure: string
  readonly ratio: number | undefined
  /** The ratio as text. */
  readonly shown: string
  /** Between what the true ratio lies in 19 of 20 cases, as text. */
  readonly within: string | undefined
  readonly wanted: string
  readonly outcome: Outcome
  /** The floor of this run misses the aim, so nobody could reach it here. */
  readonly outOfReach: boolean
  /** The ratio of the floor, as text, where the line has one. */
  readonly floor: string | undefined
  /** What the line is short of by what is held, and what was measured then. */
  readonly aim: string | undefined
  readonly measured: number | undefined
}

const fits = (result: Measured, line: Line, workload: string, which: Which): boolean =>
  result.part === line.part &&
  result.workload === workload &&
  (which.subject === undefined || which.subject === result.subject) &&
  (which.store === undefined || which.store === result.store) &&
  (which.case === undefined || which.case === result.case)

/** Whether some line of the budget asks for it. */
export const isJudged =
  (budget: Budget) =>
  (measured: Measured): boolean =>
    budget.some((line) =>
      [line.ours, line.theirs, line.floor, line.floorTo].some(
        (which) =>
          which !== undefined &&
          line.workloads.some((workload) => workload === measured.workload) &&
          fits(measured, line, measured.workload, which)
      )
    )

/** A figure over another, in one number or in one for each round; none where it was not measured. */
const ratiosOf = (line: Line, ours: Result | undefined, theirs: Result | undefined): ReadonlyArray<number> => {
  if (ours === undefined) return []
  if (line.theirs === undefined) return [overall(line.figure, ours)]
  if (theirs === undefined) return []
  // Round by round, because what disturbs the machine disturbs neighbours alike.
  return ours.samples.flatMap((sample, round) => {
    const other = theirs.samples[round]
    return other === undefined ? [] : [figureOf(line.figure, ours, sample) / figureOf(line.figure, theirs, other)]
  })
}

const middleOf = (ratios: ReadonlyArray<number>): number | undefined =>
  ratios.length === 0 ? undefined : median(ratios)

/** How often the true median may lie outside of what is said. */
const doubt = 0.05

/**
 * Between which two of the values the true median lies, by the sign test: each value lies above it or below it with the
 * same chance. Fewer than six values are too few for that, and the least and the greatest are given.
 */
export const medianWithin = (values: ReadonlyArray<number>): readonly [number, number] => {
  const sorted = [...values].sort((a, b) => a - b)
  const count = sorted.length
  let chance = 0.5 ** count
  let sum = chance
  let outside = 0
  while (sum <= doubt / 2) {
    outside++
    chance *= (count - outside + 1) / outside
    sum += chance
  }
  const first = Math.max(outside - 1, 0)
  return [sorted[first] ?? Number.NaN, sorted[count - 1 - first] ?? Number.NaN]
}

const named = (which: Which): string => [which.subject, which.case, which.store].filter(Boolean).join(" on ")

/** Every line of the budget, for each of its workloads. A line without figures is short. */
export const judge = (budget: Budget, results: ReadonlyArray<Result>): ReadonlyArray<Verdict> =>
  budget.flatMap((line) =>
    line.workloads.map((workload) => {
      const find = (which: Which) => results.find((result) => fits(result, line, workload, which))
      const theirs = line.theirs && find(line.theirs)
      const floorTo = line.floorTo === undefined ? theirs : find(line.floorTo)
      const ratios = ratiosOf(line, find(line.ours), theirs)
      const ratio = middleOf(ratios)
      const [least, most] = medianWithin(ratios)
      const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = line
      const isEnough = (ratio: number) => ratio <= atMost && ratio >= atLeast
      const floor = line.floor && middleOf(ratiosOf(line, find(line.floor), floorTo))
      const outOfReach = floor !== undefined && !isEnough(floor)
      return {
        part: line.part,
        workload,
        what: line.theirs === undefined ? named(line.ours) : `${named(line.ours)} to ${named(line.theirs)}`,
        figure: inWords[line.figure],
        ratio,
        shown: ratioText(ratio, isEnough),
        within: ratios.length < 2 ? undefined : `${ratioText(least, isEnough)} to ${ratioText(most, isEnough)}`,
        wanted: line.atLeast === undefined ? `at most ${line.atMost}` : `at least ${line.atLeast}`,
        aim: line.aim === undefined ? undefined : `at ${line.atLeast === undefined ? "most" : "least"} ${line.aim}`,
        measured: line.measured,
        outcome:
          ratio === undefined
            ? "short"
            : isEnough(ratio) || outOfReach
              ? "holds"
              : isEnough(least) || isEnough(most)
                ? "unclear"
                : "short",
        outOfReach,
        floor: line.floor && ratioText(floor, isEnough)
      }
    })
  )

/** The lines that fell short or are unclear, with no more than the workloads for which they are. */
export const shortIn = (budget: Budget, results: ReadonlyArray<Result>): Budget =>
  budget.flatMap((line) => {
    const workloads = line.workloads.filter((workload) =>
      judge([{ ...line, workloads: [workload] }], results).some(({ outcome }) => outcome !== "holds")
    )
    return workloads.length === 0 ? [] : [{ ...line, workloads }]
  })

const isSame = (one: Measured, other: Measured): boolean =>
  one.part === other.part &&
  one.workload === other.workload &&
  one.subject === other.subject &&
  one.store === other.store &&
  one.case === other.case

/** After another look at some lines: rounds that are compared count together, and what stands alone counts anew. */
export const together = (lines: Budget, before: ReadonlyArray<Result>, again: ReadonlyArray<Result>): Array<Result> => {
  const isCompared = isJudged(lines.filter(({ theirs }) => theirs !== undefined))
  return before.map((result) => {
    const anew = again.find((one) => isSame(one, result))
    if (anew === undefined) return result
    return isCompared(result) ? { ...anew, samples: [...result.samples, ...anew.samples] } : anew
  })
}

const outcomes = { holds: "holds", unclear: "unclear", short: "FALLS SHORT" } as const

export const verdictText = (verdict: Verdict): string => {
  const { figure, floor, outcome, outOfReach, part, shown, wanted, what, within, workload } = verdict
  const said = outOfReach ? "out of reach here" : outcomes[outcome]
  const ratio = within === undefined ? shown : `${shown} (${within})`
  return `${said}: ${part}, ${workload}: ${figure}, ${what}: ${ratio}, ${wanted}${floor === undefined ? "" : `; the floor: ${floor}`}`
}

/** Of one core. Above that, more requests per second may have been possible than could be asked for. */
const busy = 0.9

/** What the load generator may have held up; its CPU time per request stands, its requests per second are a least. */
export const generatorBound = (results: ReadonlyArray<Result>): ReadonlyArray<string> =>
  results
    .filter(({ samples }) => median(samples.map(({ generatorLoad }) => generatorLoad)) > busy)
    .map(({ part, workload, subject, store, case: of }) =>
      [`${part}, ${workload}:`, subject, "on", store, of].filter(Boolean).join(" ")
    )
