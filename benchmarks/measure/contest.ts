import { Effect } from "effect"
import type { Sample } from "../load/Run.ts"
import type { Plan } from "../Plan.ts"
import type { Workload } from "../Workload.ts"
import type { Generator } from "./Generator.ts"
import type { Options } from "./Options.ts"
import type { Result } from "./Result.ts"
import type { Subject } from "./Subject.ts"
import type { BenchFailed } from "./Talker.ts"

export interface Entrant {
  readonly subject: Subject
  readonly case?: string
  readonly connections?: number
  /** Processes that count with their children: a database. */
  readonly families?: ReadonlyArray<number>
}

export interface Contest {
  readonly part: string
  readonly workload: Workload
  readonly store: string
  readonly entrants: ReadonlyArray<Entrant>
  /** How many values a run takes that can be used again. */
  readonly values?: number
}

const defaultValues = 960

const valuesFor = (contest: Contest, options: Options) =>
  contest.workload === "code_exchange" ? options.codes : (contest.values ?? defaultValues)

/** Side by side: each round has a turn for everybody, and every other round goes the other way. */
export const hold = (
  generator: Generator,
  contest: Contest,
  options: Options,
  say: (line: string) => void
): Effect.Effect<ReadonlyArray<Result>, BenchFailed> =>
  Effect.gen(function* () {
    const { entrants, workload } = contest
    const plans = new Map<Entrant, Plan>()
    const samples = new Map<Entrant, Array<Sample>>(entrants.map((entrant) => [entrant, []]))

    const turn = Effect.fnUntraced(function* (entrant: Entrant, warmMillis: number, millis: number) {
      const { subject, families = [], connections = options.connections } = entrant
      const known = plans.get(entrant)
      // Values that are used up or replaced have to be made anew.
      const plan =
        known !== undefined && (known.use === "none" || known.use === "cycle")
          ? known
          : yield* subject.prepare(workload, valuesFor(contest, options))
      plans.set(entrant, plan)
      return yield* generator.run({
        plan,
        ports: [subject.port],
        connections,
        warmMillis,
        millis,
        servers: [subject.pid],
        families
      })
    })

    for (const entrant of entrants) yield* turn(entrant, options.firstWarmMillis, 100)
    for (let round = 0; round < options.rounds; round++) {
      for (const entrant of round % 2 === 0 ? entrants : [...entrants].reverse()) {
        samples.get(entrant)?.push(yield* turn(entrant, options.warmMillis, options.millis))
      }
    }
    say(`${contest.part}: ${workload} on ${contest.store} done`)
    return entrants.map((entrant) => ({
      part: contest.part,
      workload,
      store: contest.store,
      subject: entrant.subject.name,
      runtime: entrant.subject.runtime,
      case: entrant.case ?? "",
      samples: samples.get(entrant) ?? []
    }))
  })
