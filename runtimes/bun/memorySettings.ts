import { serves } from "../command/version.ts"

/**
 * What Bun is told about garbage in whatever serves over a file of its own: such an installation is small and shares its
 * machine. By itself Bun lets twice as much gather as is alive, on a machine with less than 16 GB as much. With a good
 * third as much a server under load is some 40 MB smaller, and takes more CPU time, from a fifth to a half with the
 * processor, so beside a database server Bun goes its own way. A collection of everything comes when the young part is
 * three twentieths of the heap: with a third, as Bun has it, each would be one. The names are JavaScriptCore's and change
 * with Bun, which does not start with one that it doesn't know: they are for the Bun that is locked.
 */
const besideFile = {
  BUN_JSC_heapGrowthMaxIncrease: "0.35",
  BUN_JSC_smallHeapGrowthFactor: "1.35",
  BUN_JSC_minEdenToOldGenerationRatio: "0.15"
}

/**
 * What Bun is told where the records themselves are in memory: to lay them out on large pages, and to give none of that
 * back, which would break the pages up and take time with each record that there is. Among a million grants a request
 * costs up to a fifth less; a server with few is some 40 MB larger. The names are mimalloc's and JavaScriptCore's.
 */
const fullOfRecords = {
  MIMALLOC_ALLOW_THP: "1",
  MIMALLOC_PURGE_DELAY: "-1",
  BUN_JSC_decommitUnusedMarkedBlockPages: "0"
}

type Settings = Readonly<Record<string, string>>
type Environment = Readonly<Record<string, string | undefined>>

/**
 * As the server reads it, which makes itself a file where nothing is said of a database. Its own reader is not loaded just
 * for this: a process that starts again would have waited for it twice.
 */
const settingsOver = ({ DATABASE_URL: url = "" }: Environment): Settings => {
  if (url === "" || url.startsWith("sqlite:")) return besideFile
  return url === "memory:" ? fullOfRecords : {}
}

/** What the environment of a server lacks of that: what it says itself stays. */
export const memorySettingsFor = (environment: Environment): Settings =>
  Object.fromEntries(Object.entries(settingsOver(environment)).filter(([name]) => environment[name] === undefined))

/** A script is named after what Bun itself is told; an executable has its own inside. */
const script = Bun.main.startsWith("/$bunfs/") ? [] : [...process.execArgv, Bun.main]

/**
 * Bun reads its own settings once, when it starts. So a server that was started without them starts again with them, as
 * the same process: its number, its streams and who waits for it stay as they are.
 */
export const restartWithMemorySettings = (args: ReadonlyArray<string>): void => {
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
