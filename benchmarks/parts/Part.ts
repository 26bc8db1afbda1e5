import type { Effect, Scope } from "effect"
import type { Onlooker, Options } from "../measure/contest.ts"
import type { PostgresServer, RedisServer } from "../measure/services.ts"
import type { Result } from "../report/Report.ts"
import type { Executables } from "../servers/start.ts"

/** What parts share. What is an Effect is started by whoever asks first, and stays until the end of the run. */
export interface Setting extends Executables, Onlooker {
  readonly options: Options
  readonly postgres: Effect.Effect<PostgresServer, Error>
  readonly redis: Effect.Effect<RedisServer, Error>
  /** The URL of a SQLite file with a million grants in it. */
  readonly million: Effect.Effect<string, Error>
  /** How long the memory is watched, in seconds. */
  readonly soak: number
  /** How many strangers come of each kind. */
  readonly strangers: number
}

/** A part of the whole, which `--only` names. */
export interface Part {
  readonly name: string
  readonly about: string
  readonly run: (setting: Setting) => Effect.Effect<ReadonlyArray<Result>, Error, Scope.Scope>
}
