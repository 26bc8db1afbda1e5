import { node22 } from "../../harness/given.ts"

/** How to run a program under each runtime that has a SQLite driver. */
export const runtimes: ReadonlyArray<
  readonly [name: string, command: () => readonly [string, ...ReadonlyArray<string>]]
> = [
  ["Bun", () => [process.execPath]],
  ["Node", () => [node22(), "--experimental-strip-types", "--no-warnings"]]
]

/** The path of a program beside this file. */
export const program = (name: string): string => `${import.meta.dirname}/${name}.ts`
