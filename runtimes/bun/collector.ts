/**
 * What Bun is told about garbage in whatever serves over a file of its own, unless the environment says otherwise: such
 * an installation is small and shares its machine. By itself Bun lets twice as much gather as is alive, on a machine with
 * less than 16 GB as much. With a good third as much a server under load is some 40 MB smaller, and takes up to a fifth
 * more CPU time, so beside a database server Bun goes its own way. A collection of everything comes when the young part
 * is three twentieths of the heap: with a third, as Bun has it, each would be one. The names are JavaScriptCore's and
 * change with Bun, which does not start with one that it doesn't know: they are for the Bun that is locked.
 */
const besideFile = {
  BUN_JSC_heapGrowthMaxIncrease: "0.35",
  BUN_JSC_smallHeapGrowthFactor: "1.35",
  BUN_JSC_minEdenToOldGenerationRatio: "0.15"
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * As the server reads it, which makes itself a file where nothing is said of a database. Its own reader is not loaded just
 * for this: whoever starts again would have waited for it twice.
 */
const usesFile = ({ DATABASE_URL: url = "" }: Environment): boolean => url === "" || url.startsWith("sqlite:")

/** What the environment of a server lacks for that. */
export const collectorFor = (environment: Environment): Readonly<Record<string, string>> =>
  usesFile(environment)
    ? Object.fromEntries(Object.entries(besideFile).filter(([name]) => environment[name] === undefined))
    : {}
