/** The results of a `bun test` run, from its summary. */
export interface Counts {
  readonly pass: number
  readonly fail: number
  /** Tests with `skip` or `todo`. */
  readonly skip: number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes that colour a terminal.
const colours = /\u001b\[[0-9;]*m/g

export const withoutColours = (output: string): string => output.replace(colours, "")

/**
 * Reads ` 12 pass`, ` 0 fail` and the like from the lines before the last `Ran 12 tests across 3 files`. `undefined`
 * if they are missing or do not add up, because then the result is unknown.
 */
export const readCounts = (output: string): Counts | undefined => {
  const plain = withoutColours(output)
  const ran = [...plain.matchAll(/^Ran (\d+) tests? across \d+ files?/gm)].at(-1)
  if (ran === undefined) return undefined
  const block = plain.slice(0, ran.index).trimEnd().split(/\n\n/).at(-1) ?? ""
  const count = (word: string) => Number(block.match(new RegExp(`^\\s*(\\d+) ${word}$`, "m"))?.[1] ?? 0)
  const counts = { pass: count("pass"), fail: count("fail"), skip: count("skip") + count("todo") }
  return counts.pass + counts.fail + counts.skip === Number(ran[1]) ? counts : undefined
}
