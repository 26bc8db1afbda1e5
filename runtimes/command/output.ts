import { Console, type Effect } from "effect"
import { Flag } from "effect/cli"

/** For scripts: one JSON value on standard output, and nothing else there. */
export const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON, for scripts"), Flag.withDefault(false))

/** Names come from strangers: nothing that they hold may steer a terminal. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\ufffd")

/** Either as JSON or as lines. */
export const print = (asJson: boolean, value: unknown, lines: ReadonlyArray<string>): Effect.Effect<void> =>
  Console.log(asJson ? JSON.stringify(value, undefined, 2) : lines.map(printable).join("\n"))

/** There may be more of them than a function takes arguments. */
const widest = <A>(all: ReadonlyArray<A>, textOf: (one: A) => string): number =>
  all.reduce((width, one) => Math.max(width, textOf(one).length), 0)

/** Columns as wide as what stands in them. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => {
  const all = [head, ...rows.map((row) => row.map(printable))]
  const widths = head.map((_, column) => widest(all, (row) => row[column] ?? ""))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

/** Names and values, one to a line. */
export const facts = (pairs: ReadonlyArray<readonly [name: string, value: string]>): ReadonlyArray<string> => {
  const width = widest(pairs, ([name]) => name)
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}

export const timeText = (millis: number | null): string => (millis === null ? "-" : new Date(millis).toISOString())
