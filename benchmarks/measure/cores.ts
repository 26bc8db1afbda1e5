import { availableParallelism } from "node:os"

/** Servers on the first core, the load generator on the last: they never share one, where there are two. */
export const serverCore = 0
export const generatorCore = Math.max(0, availableParallelism() - 1)
