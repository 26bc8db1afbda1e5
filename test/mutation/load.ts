import { join } from "node:path"
import { type Collected, takeCollected } from "./collected.ts"
import { allSources, root } from "./targets.ts"

/** The tests of a file; anew, with the files of tests that it imports, for whatever `anewFor` names. */
export const load = async (file: string, anewFor?: string): Promise<ReadonlyArray<Collected>> => {
  takeCollected()
  await import(join(root, file) + (anewFor === undefined ? "" : `?${anewFor}`))
  return takeCollected().map((one) => ({ ...one, name: `${file} > ${one.name}` }))
}

export const loadSources = async (): Promise<void> => {
  for (const file of allSources()) await import(join(root, file))
}
