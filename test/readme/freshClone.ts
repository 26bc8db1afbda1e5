import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { plainEnvironment } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { house } from "./blocks.ts"

const seen = ["adapters", "core", "runtimes", "node_modules", "package.json", "package-lock.json"]

/** A folder that is like a clone to the commands in it, but whose `data` is its own. */
export const freshClone = Effect.map(throwawayFolder("clone"), (folder) => {
  for (const name of seen) symlinkSync(join(house, name), join(folder, name))
  const home = join(folder, "home")
  mkdirSync(home)
  return {
    folder,
    // No npm settings of a user, and no registry: a command that is not there must not be fetched.
    env: {
      ...plainEnvironment,
      HOME: home,
      npm_config_offline: "true",
      npm_config_update_notifier: "false"
    }
  }
})
