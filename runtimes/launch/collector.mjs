/**
 * What Bun is told about garbage in whatever serves, unless the environment says otherwise. By itself it lets twice as
 * much gather as is alive, on a machine with less than 16 GB as much. A little less than that everywhere keeps a server
 * under load some 20 MB smaller; half as much would save 10 MB more, and take a twentieth more CPU time. A collection
 * of everything comes when the young part is a fifth of the heap, since with a third it would come all the time. The
 * names are JavaScriptCore's and change with Bun, which does not start with one that it doesn't know: they are for the
 * Bun that is locked.
 */
const garbage = {
  BUN_JSC_heapGrowthMaxIncrease: "0.8",
  BUN_JSC_smallHeapGrowthFactor: "1.8",
  BUN_JSC_minEdenToOldGenerationRatio: "0.2"
}

/** @type {Record<string, string>} */
export const collector = Object.fromEntries(
  Object.entries(garbage).map(([name, value]) => [name, process.env[name] ?? value])
)
