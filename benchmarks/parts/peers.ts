import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { isCurrent } from "../../runtimes/launch/ensureInstalled.mjs"
import { runProgram } from "../../test/harness/runProgram.ts"
import { closely, entrant, hold, type Options } from "../measure/contest.ts"
import { BenchFailed, type Generator, type Subject, startGenerator } from "../measure/processes.ts"
import { freshDatabase } from "../measure/services.ts"
import type { Workload } from "../Plan.ts"
import { type PeerOptions, peer, sealedFloor, tessera } from "../servers/start.ts"
import type { Part, Setting } from "./Part.ts"

const folder = join(import.meta.dir, "../peers")

const packagesIn = (file: string) =>
  existsSync(join(folder, file)) ? JSON.parse(readFileSync(join(folder, file), "utf8")).packages : undefined

/** Brings the peers on first use, and whenever their lock file has changed. None of their scripts runs. */
export const installPeers = (say: (line: string) => void) =>
  Effect.gen(function* () {
    if (isCurrent(packagesIn("package-lock.json"), packagesIn("node_modules/.package-lock.json"))) return
    say("Installing the peers …")
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    const { status, stderr } = yield* runProgram("npm", args, { cwd: folder, env: process.env })
    if (status !== 0) return yield* new BenchFailed({ message: `the peers could not be installed: ${stderr.trim()}` })
  })

const part = "peers"
/** Peers have to be asked for each of their refresh tokens, so there is one for each connection. */
const values = 64
/** And for some of them making a code takes as long as redeeming it. A turn wants four for each connection, warm. */
const fewCodes = 384
/** A trial has to tell 100 µs from 400, not 100 from 101. */
const trialCodes = 192

const runtimes = ["bun", "node"] as const

interface Candidate extends PeerOptions {
  readonly how: string
}

const candidates = (name: string, script: string, args: ReadonlyArray<ReadonlyArray<string>> = [[]]) =>
  runtimes.flatMap((runtime) =>
    args.map(
      (own): Candidate => ({ name, store: "memory:", script, runtime, args: own, how: [runtime, ...own].join(" ") })
    )
  )

const field: ReadonlyArray<ReadonlyArray<Candidate>> = [
  candidates("oidc-provider", "oidcProvider.ts"),
  candidates("@jmondi/oauth2-server", "jmondi.ts"),
  candidates("better-auth", "betterAuth.ts", [["--database=memory"], ["--database=sqlite"]]),
  candidates("@node-oauth/oauth2-server", "nodeOauth.ts")
]
/** In the middle no peer's turn is far from ours: what disturbs one then disturbs the other more often. */
const ourPlace = field.length / 2

interface Running {
  readonly candidate: Candidate
  readonly subject: Subject
}

const trialOptions = (options: Options): Options => ({
  ...options,
  rounds: 1,
  millis: 300,
  firstWarmMillis: 300,
  firstWarmRequests: 1500
})

/**
 * As many requests to warm up as elsewhere; only that a peer which takes a millisecond for each is given up on sooner.
 * Turns are not short where each wants codes of its own: making them is what takes long then.
 */
const contestOptions = (options: Options, workload: Workload): Options => ({
  ...(workload === "code_exchange" ? options : closely(options)),
  firstWarmMillis: options.firstWarmMillis / 2
})

/** A way to run that costs so many times the cheapest is not tried for the workloads that follow. */
const hopeless = 1.5

/** Of a peer's ways to run, the one that costs it least for this workload, and those worth another trial. */
const cheapest = (
  setting: Setting,
  generator: Generator,
  workload: Workload,
  ways: ReadonlyArray<Running>
): Effect.Effect<{ readonly best: Subject; readonly worthTrying: ReadonlyArray<Running> }, Error> =>
  Effect.gen(function* () {
    const trials = yield* Effect.forEach(ways, (way) =>
      Effect.gen(function* () {
        const { candidate, subject } = way
        const options = trialOptions(setting.options)
        const trial = entrant({ generator, options, workload, subjects: [subject], values, fewCodes: trialCodes })
        yield* trial.warm
        const { cpu } = yield* trial.turn
        setting.say(`${part}: ${workload}: ${candidate.name} on ${candidate.how}: ${cpu.toFixed(0)} µs`)
        return { way, cpu }
      })
    )
    const [best] = trials.sort((a, b) => a.cpu - b.cpu)
    if (best === undefined) return yield* Effect.die(new Error("a peer without a way to run"))
    return {
      best: best.way.subject,
      worthTrying: trials.filter(({ cpu }) => cpu <= hopeless * best.cpu).map(({ way }) => way)
    }
  })

const compared: ReadonlyArray<Workload> = ["client_credentials", "code_exchange", "refresh"]

export const peers: Part = {
  name: part,
  about: "Tessera beside other authorization servers, each on the runtime that is cheaper for it",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    yield* installPeers(say)
    const generator = yield* startGenerator()
    const ours = [yield* tessera(setting), yield* sealedFloor(setting, "bun")]
    const isWanted = ({ name: subject, store }: Candidate) =>
      compared.some((workload) => setting.isWanted({ part, workload, subject, store, case: "" }))
    const wanted = field.map((ways) => ways.filter(isWanted)).filter((ways) => ways.length > 0)
    let running: ReadonlyArray<ReadonlyArray<Running>> = yield* Effect.forEach(wanted, (ways) =>
      Effect.forEach(ways, (candidate) =>
        Effect.map(peer(setting, candidate), (subject): Running => ({ candidate, subject }))
      )
    )
    say(`${part}: all have started`)
    const held = yield* Effect.forEach(compared, (workload) =>
      Effect.gen(function* () {
        const tried = yield* Effect.forEach(running, (ways) => cheapest(setting, generator, workload, ways))
        running = tried.map(({ worthTrying }) => worthTrying)
        const options = contestOptions(setting.options, workload)
        const subjects = tried.map(({ best }) => best).toSpliced(ourPlace, 0, ...ours)
        const entrants = subjects.map((subject) =>
          entrant({ generator, options, workload, subjects: [subject], values, fewCodes })
        )
        return yield* hold({ part, workload, entrants }, options, setting)
      })
    )
    return held.flat()
  })
}

const postgresPart = "peers-postgres"
/** On the runtime that is cheaper for them in memory. The other peers leave all storing to whoever embeds them. */
const overPostgres = [
  { name: "oidc-provider", script: "oidcProvider.ts" },
  { name: "better-auth", script: "betterAuth.ts" }
]

export const peersPostgres: Part = {
  name: postgresPart,
  about: "Tessera beside other authorization servers, over PostgreSQL",
  run: Effect.fnUntraced(function* (setting) {
    const { say } = setting
    // No line of the budget.
    const options = { ...setting.options, rounds: 3, firstWarmMillis: 300, firstWarmRequests: 2000 }
    yield* installPeers(say)
    const postgres = yield* setting.postgres
    const ours = yield* tessera(setting, { store: yield* freshDatabase(postgres, "peers") })
    const theirs = yield* Effect.forEach(overPostgres, (one, n) =>
      Effect.flatMap(freshDatabase(postgres, `peer_${n}`), (url) =>
        peer(setting, { ...one, runtime: "bun", store: url, args: [`--postgres=${url}`] })
      )
    )
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(["client_credentials", "refresh"] as const, (workload) => {
      const entrants = [ours, ...theirs].map((subject) =>
        entrant({
          generator,
          options,
          workload,
          store: "postgres",
          values,
          subjects: [subject],
          families: [postgres.server.pid() ?? 0]
        })
      )
      return hold({ part: postgresPart, workload, entrants }, options, setting)
    })
    return held.flat()
  })
}
