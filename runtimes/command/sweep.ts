import { Effect } from "effect"
import { Command } from "effect/cli"
import { sweepAll } from "../server/housekeeping.ts"
import { administer } from "./administration.ts"
import { json, print } from "./output.ts"

export const sweep = Command.make("sweep", { json }, (given) =>
  administer(({ parts }) =>
    Effect.flatMap(sweepAll(parts.storage), (removed) =>
      print(given.json, { removed }, [`${removed} expired records removed.`])
    )
  )
).pipe(Command.withDescription("Remove what has expired; a server that runs does so every minute"))
