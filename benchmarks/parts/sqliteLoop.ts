import { join } from "node:path"
import { Effect } from "effect"
import type { Sample } from "../load/Run.ts"
import type { Entrant } from "../measure/contest.ts"
import { serverCore } from "../measure/cores.ts"
import { startTalker } from "../measure/Talker.ts"

/** The floor of a store in a file: a loop of one transaction each. */
export const sqliteLoop = (store: string, grants: number, millis: number) =>
  Effect.gen(function* () {
    const talker = yield* startTalker({
      name: "the loop over SQLite",
      command: process.execPath,
      args: [join(import.meta.dir, "../servers/sqliteLoop.ts"), `--store=${store}`, `--grants=${grants}`],
      core: serverCore
    })
    yield* talker.ask()
    // What the script answers.
    const turn = Effect.map(talker.ask({ millis }), (sample) => sample as Sample)
    return {
      name: "a loop, a transaction each",
      runtime: "bun",
      case: "",
      store: "sqlite",
      warm: Effect.asVoid(turn),
      turn
    } satisfies Entrant
  })
