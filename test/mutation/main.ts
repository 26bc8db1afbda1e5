import { randomInt } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { Array as Arrays } from "effect"
import { type Dice, makeDice } from "../../core/testing/Dice.ts"
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

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string" }, seed: { type: "string" } }
})
const sample = values.sample === undefined ? undefined : Number(values.sample)
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
const jobs = Number(process.env.MUTATION_JOBS ?? Math.min(4, availableParallelism()))
const files = mutated.filter((file) => wanted.length === 0 || wanted.some((part) => file.startsWith(part)))
const wrong = [
  ...(files.length === 0 ? [`Nothing of ${wanted.join(", ")} is mutated`] : []),
  ...(jobs >= 1 ? [] : ["MUTATION_JOBS is 1 or more"]),
  ...(Number.isSafeInteger(sample ?? 1) && (sample ?? 1) > 0 ? [] : ["--sample takes how many"]),
  ...(Number.isSafeInteger(seed) ? [] : ["--seed takes a whole number"])
]
if (wrong.length > 0) {
  for (const line of wrong) console.error(line)
  process.exit(2)
}

/** So many of them, each as likely as any other. */
const drawn = <A>(all: ReadonlyArray<A>, count: number, dice: Dice): ReadonlyArray<A> => {
  const left = [...all]
  return Arrays.range(1, Math.min(count, left.length)).flatMap(() => left.splice(dice.under(left.length), 1))
}

const folder = mkdtempSync(join(tmpdir(), "tessera-mutants-"))
process.env[folderVariable] = folder
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

const all = await instrument(files)
const mutants = sample === undefined ? all : drawn(all, sample, makeDice(seed))
say(`${all.length} mutants of ${files.length} files; ${testFiles.length} files of tests`)
if (sample !== undefined) say(`${mutants.length} of them, by chance: --sample ${sample} --seed ${seed}`)

const verdicts = new Map<string, Verdict>()
const judged = (mutant: string, verdict: Verdict): void => {
  verdicts.set(mutant, verdict)
  if (verdicts.size % 100 === 0) process.stderr.write(`${verdicts.size} tried\n`)
}
const folders = Object.values(Arrays.groupBy(mutants, ({ file }) => dirname(file)))
for (const here of sample === undefined ? folders : [mutants]) {
  const switched = await runSwitched(here, verdicts, judged)
  const fromStart = new Set([...switched.hits.atStart, ...switched.unseen.keys()])
  await runFromStart(
    here.filter(({ id }) => fromStart.has(id)),
    switched,
    jobs,
    judged
  )
}

const found = report(mutants, verdicts, sample !== undefined)
for (const line of lines(found)) say(line)
process.exit(found.score >= enough ? 0 : 1)
