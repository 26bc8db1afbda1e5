import { dirname } from "node:path"
import type { Mutant } from "./instrument.ts"
import type { Hits, Said } from "./Job.ts"
import type { Switched } from "./runSwitched.ts"
import { startTrial } from "./startTrial.ts"
import { testFiles } from "./targets.ts"
import { fileOf, lost, type Verdict } from "./Verdict.ts"

/** Which of the test files to ask first about a mutant: those that killed its neighbours, that reach it, that lie beside it. */
const mostLikelyFirst = (
  files: ReadonlyArray<string>,
  mutant: Mutant,
  hits: Hits,
  kills: ReadonlyMap<string, number>
): ReadonlyArray<string> => {
  const reaching = new Set(
    Object.entries(hits.byTest)
      .filter(([, hit]) => (hit[mutant.id] ?? 0) > 0)
      .map(([test]) => fileOf(test))
  )
  const beside = dirname(mutant.file).replace(/^[a-z]+\//, "test/")
  const weight = (file: string): number =>
    (kills.get(`${mutant.file} ${file}`) ?? 0) * 4 +
    (reaching.has(file) ? 2 : 0) +
    (file.startsWith(`${beside}/`) ? 1 : 0)
  return files.toSorted((a, b) => weight(b) - weight(a))
}

/** Tries mutants in a process each, so many at a time; those of `unseen` by the files of tests that are named there. */
export const runFromStart = async (
  mutants: ReadonlyArray<Mutant>,
  { hits, unseen }: Switched,
  jobs: number,
  judged: (mutant: string, verdict: Verdict) => void
): Promise<void> => {
  const kills = new Map<string, number>()
  const queue = [...mutants]
  const verdictOn = async (mutant: Mutant): Promise<Verdict> => {
    let verdict: Verdict | undefined
    const heard = (said: Said): void => {
      if (said._tag === "Tried") verdict = said.verdict
    }
    const files = mostLikelyFirst(unseen.get(mutant.id) ?? testFiles, mutant, hits, kills)
    const end = await startTrial({ _tag: "FromStart", mutant: mutant.id, files }, heard)
    return verdict ?? lost(end)
  }
  const worker = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const verdict = await verdictOn(mutant)
      if (verdict._tag === "Killed") {
        const key = `${mutant.file} ${fileOf(verdict.by)}`
        kills.set(key, (kills.get(key) ?? 0) + 1)
      }
      judged(mutant.id, verdict)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}
