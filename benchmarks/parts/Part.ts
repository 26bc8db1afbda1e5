import type { Effect, Scope } from "effect"
import type { Options } from "../measure/Options.ts"
import type { Result } from "../measure/Result.ts"

export interface Setting {
  readonly options: Options
  readonly node: string
  readonly say: (line: string) => void
}

/** A part of the whole, which `--only` names. */
export interface Part {
  readonly name: string
  readonly about: string
  readonly run: (setting: Setting) => Effect.Effect<ReadonlyArray<Result>, Error, Scope.Scope>
}
