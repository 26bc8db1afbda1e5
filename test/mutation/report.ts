import { dirname } from "node:path"
import type { Mutant } from "./instrument.ts"
import type { Verdict } from "./Verdict.ts"

interface Tally {
  readonly killed: number
  readonly survived: number
  /** Survived because no test comes by its place. */
  readonly unreached: number
  /** Of a hundred mutants, those that died. */
  readonly score: number
}

export interface Report extends Tally {
  readonly folders: { readonly [folder: string]: Tally }
  readonly files: { readonly [file: string]: Tally }
  /** Killed by none of a test's expectations, but by never ending, or by ending everything. */
  readonly withoutWords: number
  /** Of mutants drawn by chance: how far all of them may be from the score, in 95 of a hundred draws. */
  readonly within: number | undefined
  readonly survivors: ReadonlyArray<Mutant & { readonly reached: boolean }>
}

const tally = (mutants: ReadonlyArray<Mutant>, verdicts: ReadonlyMap<string, Verdict>): Tally => {
  const count = (tag: Verdict["_tag"] | undefined) => mutants.filter(({ id }) => verdicts.get(id)?._tag === tag).length
  const [killed, survived, unreached] = [count("Killed"), count("Survived"), count(undefined)]
  return { killed, survived, unreached, score: mutants.length === 0 ? 100 : (100 * killed) / mutants.length }
}

const spread = (score: number, count: number): number => 1.96 * Math.sqrt((score * (100 - score)) / count)

const grouped = (
  mutants: ReadonlyArray<Mutant>,
  verdicts: ReadonlyMap<string, Verdict>,
  by: (file: string) => string
): { readonly [group: string]: Tally } =>
  Object.fromEntries(
    [...new Set(mutants.map(({ file }) => by(file)))].map((group) => [
      group,
      tally(
        mutants.filter(({ file }) => by(file) === group),
        verdicts
      )
    ])
  )

export const report = (
  mutants: ReadonlyArray<Mutant>,
  verdicts: ReadonlyMap<string, Verdict>,
  isSample: boolean
): Report => ({
  ...tally(mutants, verdicts),
  within: isSample ? spread(tally(mutants, verdicts).score, mutants.length) : undefined,
  folders: grouped(mutants, verdicts, dirname),
  files: grouped(mutants, verdicts, (file) => file),
  withoutWords: [...verdicts.values()].filter((verdict) => verdict._tag === "Killed" && verdict.how !== "failed")
    .length,
  survivors: mutants
    .filter(({ id }) => verdicts.get(id)?._tag !== "Killed")
    .map((mutant) => ({ ...mutant, reached: verdicts.has(mutant.id) }))
})

const row = (name: string, { killed, survived, unreached, score }: Tally): string =>
  [
    name.padEnd(36),
    `${score.toFixed(1)} %`.padStart(8),
    String(killed).padStart(7),
    String(survived).padStart(9),
    String(unreached).padStart(10)
  ].join("")

const short = (text: string): string => {
  const line = text.replace(/\s+/g, " ")
  return line.length > 100 ? `${line.slice(0, 100)}…` : line
}

export const lines = (found: Report): ReadonlyArray<string> => [
  ...found.survivors.map(
    ({ file, line, mutator, original, replacement, reached }) =>
      `${file}:${line} ${mutator}${reached ? "" : " (no test comes here)"}: ${short(original)} → ${short(replacement)}`
  ),
  "",
  `${"".padEnd(36)}${"score".padStart(8)}${"killed".padStart(7)}${"survived".padStart(9)}${"unreached".padStart(10)}`,
  ...Object.entries(found.files).map(([name, counts]) => row(`  ${name}`, counts)),
  "",
  ...Object.entries(found.folders).map(([name, counts]) => row(name, counts)),
  row("all", found),
  ...(found.within === undefined ? [] : [`give or take ${found.within.toFixed(1)} for all of which these were drawn`]),
  "",
  `${found.withoutWords} of the killed did not end, or ended their process`
]
