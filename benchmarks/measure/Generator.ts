import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { Run, WarmedSample } from "../load/Run.ts"
import { generatorCore } from "./cores.ts"
import { type BenchFailed, startTalker } from "./Talker.ts"

export interface Generator {
  readonly run: (run: Run) => Effect.Effect<WarmedSample, BenchFailed>
}

export const startGenerator = (core: number = generatorCore): Effect.Effect<Generator, BenchFailed, Scope.Scope> =>
  Effect.map(
    startTalker({
      name: "the load generator",
      command: process.execPath,
      args: ["--no-env-file", join(import.meta.dir, "../load/generate.ts")],
      core
    }),
    // What `generate` says.
    (talker) => ({ run: (run) => Effect.map(talker.ask(run), (sample) => sample as WarmedSample) })
  )
