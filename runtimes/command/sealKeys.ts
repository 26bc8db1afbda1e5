import { Console, Redacted } from "effect"
import { Command } from "effect/cli"
import { newSealKey } from "../server/SealKeyFile.ts"

const fresh = Command.make("new", {}, () => Console.log(Redacted.value(newSealKey()))).pipe(
  Command.withDescription(
    "Print a fresh seal key. Put it in front of the others in SEAL_KEYS, or in the file beside the database, with a comma between: the first seals, all open, and nobody is logged out"
  ),
  Command.withExamples([{ command: "SEAL_KEYS=$(tessera seal-keys new) tessera serve" }])
)

export const sealKeys = Command.make("seal-keys").pipe(
  Command.withDescription("Make keys that tokens are sealed with"),
  Command.withSubcommands([fresh])
)
