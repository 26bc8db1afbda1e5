import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { instrument } from "./instrument.ts"
import { folderVariable } from "./instrumentedFile.ts"
import { lines, report } from "./report.ts"
import { runFromStart } from "./runFromStart.ts"
import { runSwitched } from "./runSwitched.ts"
import { mutated, testFiles } from "./targets.ts"
import type { Verdict } from "./Verdict.ts"

/** The least part of the mutants that has to die, of a hundred. */
const enough = 93

const say = (line: string): void => console.log(line)

const wanted = process.argv.slice(2)
const jobs = Number(process.env.MUTATION_JOBS ?? Math.min(4, availableParallelism()))
const files = mutated.filter((file) => wanted.length === 0 || wanted.some((part) => file.startsWith(part)))
if (files.length === 0 || !(jobs >= 1)) {
  console.error(files.length === 0 ? `Nothing of ${wanted.join(", ")} is mutated` : "MUTATION_JOBS is 1 or more")
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), "tessera-mutants-"))
process.env[folderVariable] = folder
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

const mutants = await instrument(files)
say(`${mutants.length} mutants of ${files.length} files; ${testFiles.length} files of tests`)

const verdicts = new Map<string, Verdict>()
const judged = (mutant: string, verdict: Verdict): void => {
  verdicts.set(mutant, verdict)
  if (verdicts.size % 100 === 0) process.stderr.write(`${verdicts.size} tried\n`)
}
const hits = await runSwitched(mutants, verdicts, judged)
const fromStart = new Set(hits.atStart)
await runFromStart(
  mutants.filter(({ id }) => fromStart.has(id)),
  hits,
  jobs,
  judged
)

const found = report(mutants, verdicts)
for (const line of lines(found)) say(line)
process.exit(found.score >= enough ? 0 : 1)
