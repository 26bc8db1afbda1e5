import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { instrument, type Mutant } from "./instrument.ts"
import { folderVariable } from "./instrumentedFile.ts"
import type { Hits, Said } from "./Job.ts"
import { lines, report, type Verdict } from "./report.ts"
import { startTrial } from "./startTrial.ts"
import { mutated, testFiles } from "./targets.ts"

/** The least part of the mutants that has to die, of a hundred. */
const enough = 85

const say = (line: string): void => console.log(line)

const tellProgress = (verdicts: ReadonlyMap<string, Verdict>): void => {
  if (verdicts.size > 0 && verdicts.size % 100 === 0) process.stderr.write(`${verdicts.size} tried\n`)
}

const trySwitched = async (mutants: ReadonlyArray<Mutant>, verdicts: Map<string, Verdict>): Promise<Hits> => {
  let hits: Hits | undefined
  for (;;) {
    const left = mutants.filter(({ id }) => !verdicts.has(id)).map(({ id }) => id)
    let trying: string | undefined
    let unsound: string | undefined
    const heard = (said: Said): void => {
      if (said._tag === "Reached") hits = said.hits
      if (said._tag === "Unsound") unsound = `${said.test} fails without any mutant: ${said.reason}`
      if (said._tag === "Trying") trying = said.mutant
      if (said._tag === "Killed") verdicts.set(said.mutant, { _tag: "Killed", by: said.by })
      if (said._tag === "Survived") verdicts.set(said.mutant, { _tag: "Survived" })
      if (said._tag !== "Trying") tellProgress(verdicts)
    }
    const end = await startTrial({ _tag: "Switched", mutants: left, hits }, heard)
    if (unsound !== undefined) throw new Error(unsound)
    if (end === "ended" && hits !== undefined) return hits
    if (trying === undefined || verdicts.has(trying)) throw new Error("the tests cannot be run")
    verdicts.set(trying, { _tag: "Killed", by: end === "silent" ? "a loop without end" : "the end of the process" })
  }
}

/** Which test files to ask first about a mutant: those that killed its neighbours, that reach it, that lie beside it. */
const mostLikelyFirst = (mutant: Mutant, hits: Hits, kills: ReadonlyMap<string, number>): ReadonlyArray<string> => {
  const reaching = new Set(
    Object.entries(hits.byTest)
      .filter(([, hit]) => (hit[mutant.id] ?? 0) > 0)
      .map(([test]) => test.split(" > ", 1)[0])
  )
  const beside = dirname(mutant.file).replace("core/", "test/")
  const weight = (file: string): number =>
    (kills.get(`${mutant.file} ${file}`) ?? 0) * 4 +
    (reaching.has(file) ? 2 : 0) +
    (file.startsWith(`${beside}/`) ? 1 : 0)
  return testFiles.toSorted((a, b) => weight(b) - weight(a))
}

const tryFromStart = async (
  mutants: ReadonlyArray<Mutant>,
  hits: Hits,
  verdicts: Map<string, Verdict>,
  jobs: number
): Promise<void> => {
  const kills = new Map<string, number>()
  const queue = [...mutants]
  const worker = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const { id, file } = mutant
      const heard = (said: Said): void => {
        if (said._tag === "Killed") {
          const key = `${file} ${said.by.split(" > ", 1)[0]}`
          kills.set(key, (kills.get(key) ?? 0) + 1)
          verdicts.set(id, { _tag: "Killed", by: said.by })
        }
        if (said._tag === "Survived") verdicts.set(id, { _tag: "Survived" })
      }
      const files = mostLikelyFirst(mutant, hits, kills)
      const end = await startTrial({ _tag: "FromStart", mutant: id, files }, heard)
      if (!verdicts.has(id)) {
        verdicts.set(id, { _tag: "Killed", by: end === "silent" ? "a loop without end" : "the end of the process" })
      }
      tellProgress(verdicts)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("--"))
const jobs = Number(process.env.MUTATION_JOBS ?? Math.min(4, availableParallelism()))
const files = mutated.filter((file) => wanted.length === 0 || wanted.some((part) => file.startsWith(part)))

const folder = mkdtempSync(join(tmpdir(), "tessera-mutants-"))
process.env[folderVariable] = folder
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

const mutants = await instrument(files)
say(`${mutants.length} mutants of ${files.length} files; ${testFiles.length} files of tests`)
const verdicts = new Map<string, Verdict>()
const hits = await trySwitched(mutants, verdicts)
const fromStart = new Set(hits.atStart)
say(`${fromStart.size} of them at work from the first import on`)
await tryFromStart(
  mutants.filter(({ id }) => fromStart.has(id)),
  hits,
  verdicts,
  jobs
)
const found = report(mutants, verdicts)
for (const line of lines(found)) say(line)
process.exit(found.score >= enough ? 0 : 1)
