import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import type { Executables } from "../servers/start.ts"
import { manyInSqlite } from "./manyGrants/inSqlite.ts"

/** Made by processes that then end, so that what filling takes is not in the memory of what is measured. */
export const millionInSqlite = (
  executables: Executables,
  say: (line: string) => void
): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.gen(function* () {
    say("a million grants in SQLite")
    const file = join(yield* throwawayFolder("bench-million"), "tessera.db")
    yield* manyInSqlite(executables, file, 1_000_000)
    return `sqlite:${file}`
  })
