import type { Effect, Scope } from "effect"
import type { Server } from "../../test/harness/Server.ts"
import type { Options } from "../measure/Options.ts"
import type { Result } from "../measure/Result.ts"
import type { Executables } from "../servers/start.ts"

/** What parts share. What is an Effect is started by whoever asks first, and stays until the end of the run. */
export interface Setting extends Executables {
  readonly options: Options
  readonly say: (line: string) => void
  readonly postgres: Effect.Effect<PostgresServer, Error>
  readonly redis: Effect.Effect<RedisServer, Error>
  /** The URL of a SQLite file with a million grants in it. */
  readonly million: Effect.Effect<string, Error>
  /** How long the memory is watched, in seconds. */
  readonly soak: number
}

export interface PostgresServer {
  readonly server: Server
  readonly bin: string
}

export interface RedisServer {
  readonly server: Server
  readonly cli: string
  readonly benchmark: string
}

/** A part of the whole, which `--only` names. */
export interface Part {
  readonly name: string
  readonly about: string
  readonly run: (setting: Setting) => Effect.Effect<ReadonlyArray<Result>, Error, Scope.Scope>
}
