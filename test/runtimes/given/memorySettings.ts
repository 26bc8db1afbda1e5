/** What a server over a file of its own has Bun told about garbage. */
export const smallCollector = {
  heapGrowthMaxIncrease: "0.35",
  smallHeapGrowthFactor: "1.35",
  minEdenToOldGenerationRatio: "0.15"
}

/** What Bun was told about garbage, as it says itself with `BUN_JSC_dumpOptions=1`. */
export const collectorOf = (said: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...said.matchAll(/^ +(\w*(?:heap|eden)\w*)=(\S+)/gim)].map(([, name, value]) => [name, value]))

/** After how many milliseconds Bun's allocator gives memory back, as it says itself with `MIMALLOC_VERBOSE=1`; -1 for never. */
export const purgeDelayOf = (said: string): string | undefined =>
  // Who starts again says it twice.
  [...said.matchAll(/^option 'purge_delay': (-?\d+)/gm)].at(-1)?.[1]
