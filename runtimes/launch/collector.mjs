/**
 * What Bun is told about garbage in whatever serves, unless the environment says otherwise. By itself it lets twice as
 * much gather as is alive (as much, on a machine with less than 16 GB): a fourth of what a server under load holds. With
 * half as much it collects more often, for a hundredth of the CPU time. A collection of everything comes when the young
 * part is a fifth of the heap, for with a third each would be one. The names are JavaScriptCore's and change with Bun,
 * which does not start with one that it doesn't know: they are for the Bun that is locked.
 */
const garbage = {
  BUN_JSC_heapGrowthMaxIncrease: "0.5",
  BUN_JSC_smallHeapGrowthFactor: "1.5",
  BUN_JSC_minEdenToOldGenerationRatio: "0.2"
}

/** @type {Record<string, string>} */
export const collector = Object.fromEntries(
  Object.entries(garbage).map(([name, value]) => [name, process.env[name] ?? value])
)
