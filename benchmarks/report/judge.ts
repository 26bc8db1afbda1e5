import { Schema } from "effect"
import type { Result } from "../measure/Result.ts"
import { median } from "../measure/statistics.ts"
import { workloads } from "../Workload.ts"
import { figureOf, figures, inWords, overall } from "./Figure.ts"
import { ratioText } from "./ratioText.ts"

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
  atLeast: Schema.optionalKey(Schema.Finite)
})
type Line = typeof Line.Type

export const Budget = Schema.Array(Line)
export type Budget = typeof Budget.Type
export const readBudget = Schema.decodeUnknownSync(Budget)

export interface Verdict {
  readonly part: string
  readonly what: string
  readonly workload: string
  readonly figure: string
  readonly ratio: number | undefined
  /** The ratio as text. */
  readonly shown: string
  readonly wanted: string
  readonly holds: boolean
  /** The floor of this run misses the aim, so nobody could reach it here. */
  readonly outOfReach: boolean
  /** The ratio of the floor, as text, where the line has one. */
  readonly floor: string | undefined
}

const fits = (result: Result, line: Line, workload: string, which: Which): boolean =>
  result.part === line.part &&
  result.workload === workload &&
  (which.subject === undefined || which.subject === result.subject) &&
  (which.store === undefined || which.store === result.store) &&
  (which.case === undefined || which.case === result.case)

/** Round by round, because what disturbs the machine disturbs neighbours alike; then the median. */
const ratioOf = (line: Line, ours: Result | undefined, theirs: Result | undefined): number | undefined => {
  if (ours === undefined) return undefined
  if (line.theirs === undefined) return overall(line.figure, ours)
  if (theirs === undefined) return undefined
  const ratios = ours.samples.flatMap((sample, round) => {
    const other = theirs.samples[round]
    return other === undefined ? [] : [figureOf(line.figure, ours, sample) / figureOf(line.figure, theirs, other)]
  })
  return ratios.length === 0 ? undefined : median(ratios)
}

const named = (which: Which): string => [which.subject, which.case, which.store].filter(Boolean).join(" on ")

/** Every line of the budget, for each of its workloads. A line without figures does not hold. */
export const judge = (budget: Budget, results: ReadonlyArray<Result>): ReadonlyArray<Verdict> =>
  budget.flatMap((line) =>
    line.workloads.map((workload) => {
      const find = (which: Which) => results.find((result) => fits(result, line, workload, which))
      const theirs = line.theirs && find(line.theirs)
      const floorTo = line.floorTo === undefined ? theirs : find(line.floorTo)
      const ratio = ratioOf(line, find(line.ours), theirs)
      const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = line
      const isEnough = (ratio: number) => ratio <= atMost && ratio >= atLeast
      const floor = line.floor && ratioOf(line, find(line.floor), floorTo)
      const outOfReach = floor !== undefined && !isEnough(floor)
      return {
        part: line.part,
        workload,
        what: line.theirs === undefined ? named(line.ours) : `${named(line.ours)} to ${named(line.theirs)}`,
        figure: inWords[line.figure],
        ratio,
        shown: ratioText(ratio, isEnough),
        wanted: line.atLeast === undefined ? `at most ${line.atMost}` : `at least ${line.atLeast}`,
        holds: ratio !== undefined && (isEnough(ratio) || outOfReach),
        outOfReach,
        floor: line.floor && ratioText(floor, isEnough)
      }
    })
  )

export const verdictText = (verdict: Verdict): string =>
  `${verdict.outOfReach ? "out of reach here" : verdict.holds ? "holds" : "FALLS SHORT"}: ${verdict.part}, ${verdict.workload}: ${verdict.figure}, ${verdict.what}: ${verdict.shown}, ${verdict.wanted}${verdict.floor === undefined ? "" : `; the floor: ${verdict.floor}`}`
