import { serves } from "../command/serves.ts"
import { memorySettingsFor } from "./memorySettings.ts"

/** A script is named after what Bun itself is told; an executable has its own inside. */
const script = Bun.main.startsWith("/$bunfs/") ? [] : [...process.execArgv, Bun.main]

/**
 * Bun reads its own settings once, when it starts. So a server that was started without them starts again with them, as
 * the same process: its number, its streams and who waits for it stay as they are.
 */
export const startAgainIfUntold = (args: ReadonlyArray<string>): void => {
  if (!serves(args) || process.execve === undefined) return
  const lacking = memorySettingsFor(process.env)
  if (Object.keys(lacking).length === 0) return
  try {
    process.execve(process.execPath, [process.execPath, ...script, ...args], { ...process.env, ...lacking })
  } catch (error) {
    // It serves as well with more garbage.
    process.stderr.write(`tessera goes on without settings for its memory: ${String(error)}\n`)
  }
}
