import { withoutColours } from "./Counts.ts"

const result = /^\((pass|fail|skip|todo)\) /
const heading = /^\S+\.test\.ts:$/
/** Of a file whose process ended before its tests did. */
const crash = /^✗ /
const closing = /^\d+ tests? failed:$/

/** One test may compare two books; this much says what is wrong with it. */
const most = 8_000

/** What `bun test` printed of each test that failed, without all that it printed of the others. */
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
