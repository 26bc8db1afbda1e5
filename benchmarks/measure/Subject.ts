import { Effect, type Scope } from "effect"
import type { Plan, Ready } from "../Plan.ts"
import type { Workload } from "../Workload.ts"
import { serverCore } from "./cores.ts"
import { type BenchFailed, startTalker } from "./Talker.ts"

/** A server that runs and can be measured. */
export interface Subject {
  readonly name: string
  readonly runtime: Runtime
  readonly pid: number
  readonly port: number
  readonly prepare: (workload: Workload, count: number) => Effect.Effect<Plan, BenchFailed>
}

export type Runtime = "bun" | "node"

export interface SubjectOptions {
  readonly name: string
  readonly runtime: Runtime
  readonly executable: string
  /** What a runtime is to run; nothing, where the executable is the server itself. */
  readonly script?: string
  readonly args: ReadonlyArray<string>
  readonly core?: number | undefined
  readonly env?: Readonly<Record<string, string>>
}

/** Node 22 takes types off by itself only when it is told to. */
const flags = {
  bun: ["--no-env-file"],
  node: ["--expose-gc", "--experimental-strip-types", "--disable-warning=ExperimentalWarning"]
}

export const startSubject = (options: SubjectOptions): Effect.Effect<Subject, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { name, runtime, executable, script, args } = options
    const talker = yield* startTalker({
      name,
      command: executable,
      args: [...(script === undefined ? [] : [...flags[runtime], script]), `--runtime=${runtime}`, ...args],
      core: "core" in options ? options.core : serverCore,
      ...(options.env === undefined ? {} : { env: options.env })
    })
    // What `obey` says.
    const { port } = (yield* talker.ask()) as Ready
    return {
      name,
      runtime,
      pid: talker.pid,
      port,
      prepare: (workload, count) => Effect.map(talker.ask({ workload, count }), (plan) => plan as Plan)
    }
  })
