import { Clock, Effect } from "effect"
import { type Plan, type Sample, type Workload, warmPatience } from "../Plan.ts"
import type { Measured, Result } from "../report/Report.ts"
import type { BenchFailed, Generator, Subject } from "./processes.ts"

/** How long a run takes. */
export interface Options {
  readonly rounds: number
  readonly millis: number
  readonly warmMillis: number
  /** Before the first round: as long as a runtime needs to have compiled what is hot. */
  readonly firstWarmMillis: number
  readonly firstWarmRequests: number
  readonly connections: number
}

export const thorough: Options = {
  rounds: 5,
  millis: 500,
  warmMillis: 120,
  firstWarmMillis: 1200,
  firstWarmRequests: 15_000,
  connections: 64
}

/** For `--check`: many short turns, so that what disturbs one disturbs its neighbour, and the median moves little. */
export const judged: Options = { ...thorough, rounds: 13, millis: 120, warmMillis: 30, firstWarmMillis: 700 }

export const quick: Options = {
  rounds: 3,
  millis: 400,
  warmMillis: 120,
  firstWarmMillis: 800,
  firstWarmRequests: 4000,
  connections: 64
}

/** For figures that lie close together: more rounds, and shorter turns, since a host disturbs for seconds on end. */
export const closely = (options: Options): Options => ({
  ...options,
  rounds: 2 * options.rounds - 1,
  millis: Math.min(options.millis, 280),
  warmMillis: Math.min(options.warmMillis, 80)
})

/**
 * For what goes on once a signature is there: the compiler joins so much of it into one piece that it takes 40,000
 * requests and more until the last is compiled, on threads that count.
 */
export const warmly = (options: Options): Options => ({
  ...options,
  firstWarmRequests: 3 * options.firstWarmRequests
})

const inShortRounds =
  (rounds: number) =>
  (options: Options): Options => ({
    ...closely(options),
    rounds: Math.max(rounds, closely(options).rounds),
    millis: 140
  })

/** For figures within a tenth of each other: from so many rounds the median is known to a few hundredths. */
export const finely = inShortRounds(61)

/** The same where a server keeps something of each request: after more rounds, its weight would be what is measured. */
export const sparingly = inShortRounds(25)

/** For figures that lie far apart, or that nothing hangs on. */
export const briefly = (options: Options): Options => ({ ...closely(options), rounds: options.rounds })

/** Whoever takes part: it warms up once, and then has a turn in each round. */
export interface Entrant {
  readonly name: string
  readonly runtime: string
  readonly case: string
  readonly store: string
  readonly warm: Effect.Effect<void, BenchFailed>
  readonly turn: Effect.Effect<Sample, BenchFailed>
}

interface Contest {
  readonly part: string
  readonly workload: Workload
  readonly entrants: ReadonlyArray<Entrant>
}

/** Who is told, and asked. */
export interface Onlooker {
  readonly say: (line: string) => void
  /** Whether anybody asks for it: `--check` asks for what the budget judges. */
  readonly isWanted: (measured: Measured) => boolean
}

/** Side by side, whoever is wanted: each round has a turn for everybody, and every other round goes the other way. */
export const hold = (
  contest: Contest,
  options: Options,
  { isWanted, say }: Onlooker
): Effect.Effect<ReadonlyArray<Result>, BenchFailed> =>
  Effect.gen(function* () {
    const { part, workload } = contest
    const entrants = contest.entrants.filter(({ name: subject, store, case: of }) =>
      isWanted({ part, workload, subject, store, case: of })
    )
    const samples = new Map<Entrant, Array<Sample>>(entrants.map((entrant) => [entrant, []]))
    for (const entrant of entrants) {
      yield* entrant.warm
      say(`${part}: ${workload}: ${entrant.name} ${entrant.store} ${entrant.case} is warm`)
    }
    for (let round = 0; round < options.rounds; round++) {
      for (const entrant of round % 2 === 0 ? entrants : [...entrants].reverse()) {
        samples.get(entrant)?.push(yield* entrant.turn)
      }
    }
    say(`${part}: ${workload} done`)
    return entrants.map((entrant) => ({
      part,
      workload,
      store: entrant.store,
      subject: entrant.name,
      runtime: entrant.runtime,
      case: entrant.case,
      samples: samples.get(entrant) ?? []
    }))
  })

interface Entry {
  readonly generator: Generator
  readonly options: Options
  readonly workload: Workload
  /** Several processes share the load; the first describes the requests. */
  readonly subjects: readonly [Subject, ...ReadonlyArray<Subject>]
  readonly store?: string
  readonly case?: string
  readonly connections?: number
  /** How many values a turn takes that can be used again. */
  readonly values?: number
  /** So many codes are made when nothing is known of the server's speed, and at least. */
  readonly fewCodes?: number
  /** Nobody else refreshes these grants, so that a turn goes on where the one before has ended. */
  readonly keepsChain?: boolean
  /** Processes that count with their children: a database. */
  readonly families?: ReadonlyArray<number>
}

const defaultValues = 960
const defaultFewCodes = 640
/** Of the time in which codes are made and used up, about so many parts go by before the server sees them. */
const making = 4
/** A turn ends by its time; codes are a little more than that takes. */
const reserve = 1.3
let chains = 0
/** Whose values can be used once: codes, assertions, and tokens that a guard remembers. */
const usedUp: ReadonlyArray<Workload> = [
  "code_exchange",
  "assertion_es256",
  "assertion_eddsa",
  "assertion_ps256",
  "jwt_guard",
  "id_token",
  "dpop_push",
  "dpop_code",
  "dpop_refresh",
  "dpop_guard"
]
const mostCodes = 40_000

/** A server, with the load generator in front of it. */
export const entrant = (entry: Entry): Entrant => {
  const { generator, options, subjects, workload } = entry
  const [first] = subjects
  const fewCodes = entry.fewCodes ?? defaultFewCodes
  let kept: Plan | undefined
  let perSecond: number | undefined

  const isUsedUp = usedUp.includes(workload)
  const countFor = (millis: number): number => {
    if (!isUsedUp) return entry.values ?? defaultValues
    if (perSecond === undefined) return fewCodes
    // Each can be used once, so a turn is as many as its time takes.
    return Math.min(mostCodes, Math.max(fewCodes, Math.round((reserve * perSecond * millis) / 1000)))
  }

  const chain = entry.keepsChain && workload === "refresh" ? `${++chains}` : undefined

  const turn = (warmMillis: number, millis: number, warmRequests = 0) =>
    Effect.gen(function* () {
      const plan = kept ?? (yield* first.prepare(workload, countFor(warmMillis + millis)))
      // Values that are used up or replaced have to be made anew, and a peer forgets what it has stored meanwhile.
      if (plan.use === "cycle" || chain !== undefined) kept = plan
      const sample = yield* generator.run({
        plan,
        ports: subjects.map(({ port }) => port),
        connections: entry.connections ?? options.connections,
        warmMillis,
        warmRequests,
        millis,
        chain,
        servers: subjects.map(({ pid }) => pid),
        families: entry.families ?? []
      })
      perSecond = sample.perSecond
      return sample
    })

  const warmTurn = turn(options.firstWarmMillis, 100, options.firstWarmRequests)
  /**
   * One turn's codes are used up long before a server is warm, and the first only finds out how many a turn takes. What is
   * signed takes longer to make than to use.
   */
  const warmWithCodes = Effect.gen(function* () {
    const giveUpAt = (yield* Clock.currentTimeMillis) + options.firstWarmMillis * warmPatience * making
    let answered = 0
    do {
      const { requests, warmRequests } = yield* warmTurn
      answered += warmRequests + requests
    } while (answered < options.firstWarmRequests && (yield* Clock.currentTimeMillis) < giveUpAt)
  })
  return {
    name: first.name,
    runtime: first.runtime,
    case: entry.case ?? "",
    store: entry.store ?? "memory",
    warm: isUsedUp ? warmWithCodes : Effect.asVoid(warmTurn),
    turn: turn(options.warmMillis, options.millis)
  }
}
