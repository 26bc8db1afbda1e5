import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { compile } from "../../runtimes/binary/compile.mjs"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { BenchFailed } from "./Talker.ts"

/** The server under test as one executable, made as the one is that we ship. */
export const compileTessera = (say: (line: string) => void): Effect.Effect<string, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    say("compiling the server")
    const outfile = join(yield* throwawayFolder("bench-executable"), "tessera")
    const failure = compile({ entry: join(import.meta.dir, "../servers/tessera.ts"), outfile })
    if (failure !== undefined) return yield* new BenchFailed({ message: failure })
    return outfile
  })
