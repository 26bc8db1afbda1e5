import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { tessera } from "../servers/start.ts"

/** Made by one process and then left alone, so that what filling takes is not in the memory of what is measured. */
export const millionInSqlite = (node: string, say: (line: string) => void): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.gen(function* () {
    say("a million grants in SQLite")
    const file = `sqlite:${join(yield* throwawayFolder("bench-million"), "tessera.db")}`
    yield* Effect.scoped(tessera({ node }, { store: file, grants: 1_000_000 }))
    return file
  })
