import { withoutColours } from "./Counts.ts"

const result = /^\((pass|fail|skip|todo)\) /
const heading = /^\S+\.test\.ts:$/
/** A file whose process ended before its tests did. */
const crash = /^✗ /
const closing = /^\d+ tests? failed:$/

/** Limits the output of one test, which may compare two long texts. */
const most = 8_000

/** The output of each failed test in that of `bun test`. */
export const failuresIn = (output: string): ReadonlyArray<string> => {
  const failures: Array<string> = []
  let said: Array<string> = []
  for (const line of withoutColours(output).split("\n")) {
    if (closing.test(line)) break
    if (crash.test(line)) failures.push(line)
    said.push(line)
    if (!result.test(line) && !heading.test(line)) continue
    if (line.startsWith("(fail)")) failures.push(`${said.slice(0, -1).join("\n").slice(0, most).trim()}\n${line}`)
    said = []
  }
  return failures
}
