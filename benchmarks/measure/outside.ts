import { Effect } from "effect"
import { runProgram } from "../../test/harness/runProgram.ts"
import { cpuOfFamily } from "../load/CpuTime.ts"
import type { Sample } from "../load/Run.ts"
import type { Entrant } from "./contest.ts"
import { BenchFailed } from "./Talker.ts"

export interface Outside {
  readonly name: string
  readonly runtime: string
  readonly store: string
  readonly case?: string
  /** A program that drives a database itself, for so many milliseconds, and what it printed of its rate. */
  readonly command: (millis: number) => readonly [program: string, args: ReadonlyArray<string>]
  /** The same with next to no work: what its connections cost the database is not part of what is compared. */
  readonly idle?: readonly [program: string, args: ReadonlyArray<string>]
  readonly read: (output: string) => { readonly perSecond: number; readonly requests: number; readonly p50: number }
  readonly families: ReadonlyArray<number>
  readonly millis: number
}

/** A database's processes end a little after their clients. */
const partingMillis = 150
const longest = 20_000

const cpuOf = (families: ReadonlyArray<number>) => families.reduce((sum, pid) => sum + cpuOfFamily(pid), 0)

/** A database's own benchmark program as an entrant: what it drives is the floor of a store. */
export const outside = (options: Outside): Entrant => {
  const ran = Effect.fnUntraced(function* ([program, args]: readonly [string, ReadonlyArray<string>]) {
    const before = cpuOf(options.families)
    const { status, stdout, stderr } = yield* runProgram(program, args)
    if (status !== 0) return yield* new BenchFailed({ message: `${program} failed: ${stderr}` })
    yield* Effect.sleep(partingMillis)
    return { stdout, cpu: cpuOf(options.families) - before }
  })

  const turn = (millis: number): Effect.Effect<Sample, BenchFailed> =>
    Effect.gen(function* () {
      const idle = options.idle === undefined ? 0 : (yield* ran(options.idle)).cpu
      const { stdout, cpu } = yield* ran(options.command(millis))
      const { perSecond, requests, p50 } = options.read(stdout)
      if (!(perSecond > 0 && requests > 0)) {
        // On a crowded machine its connections alone can take that long.
        if (millis < longest) return yield* turn(millis * 3)
        return yield* new BenchFailed({ message: `${options.name} told no rate:\n${stdout}` })
      }
      return {
        requests,
        seconds: requests / perSecond,
        perSecond,
        cpu: 0,
        databaseCpu: (Math.max(0, cpu - idle) * 1000) / requests,
        p50,
        p99: 0,
        memory: 0,
        generatorLoad: 0
      }
    })
  return {
    name: options.name,
    runtime: options.runtime,
    case: options.case ?? "",
    store: options.store,
    warm: Effect.asVoid(turn(options.millis)),
    turn: turn(options.millis)
  }
}
