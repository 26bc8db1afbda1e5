import type { Collected } from "./collected.ts"
import { failureOf } from "./failureOf.ts"
import type { Hits, Said } from "./Job.ts"
import { load, loadSources } from "./load.ts"
import { look } from "./look.ts"
import { switchboard, takeReached } from "./Switchboard.ts"
import { testFiles } from "./targets.ts"
import { fileOf, type Killed, killed } from "./Verdict.ts"

/** A place that is passed this much more often than in all tests together is in a loop without end. */
const loopFactor = 100
const leastHits = 1000

/** How the first of the tests that fails does so. `passed`: one that does not, and whether it came by the mutant. */
const killedAmong = async (
  tests: ReadonlyArray<Collected>,
  passed: (one: Collected, hasMet: boolean) => void = () => {}
): Promise<Killed | undefined> => {
  for (const one of tests) {
    switchboard.hitCount = 0
    const reason = await failureOf(one)
    if (reason !== undefined) return killed(one.name, reason)
    passed(one, switchboard.hitCount > 0)
  }
  return undefined
}

/** The same, with the files of tests loaded while the mutant is at work: these reach it as they are loaded. */
const killedAnew = async (mutant: string, files: ReadonlyArray<string>): Promise<Killed | undefined> => {
  for (const file of files) {
    switchboard.hitCount = 0
    try {
      const found = await killedAmong(await load(file, mutant))
      if (found !== undefined) return found
    } catch {
      return killed(file, "cannot be loaded")
    }
  }
  return undefined
}

/** Tries mutants one after the other in this process, each by the tests that come by its place. */
export const trySwitched = async (
  mutants: ReadonlyArray<string>,
  known: Hits | undefined,
  say: (said: Said) => void
): Promise<void> => {
  await loadSources()
  const atStart = takeReached()
  const tests: Array<Collected> = []
  for (const file of testFiles) tests.push(...(await load(file)))
  const hits = known ?? (await look(tests, mutants, atStart, say))
  if (hits === undefined) return

  const fromStart = new Set(hits.atStart)
  const byFile = new Map(Object.entries(hits.byFile).map(([file, reached]) => [file, new Set(reached)]))
  /** How many mutants a test, or a file of tests, has killed: who killed many is asked first. */
  const kills = new Map<string, number>()
  const bestFirst = <A>(all: ReadonlyArray<A>, name: (one: A) => string): ReadonlyArray<A> =>
    all.toSorted((a, b) => (kills.get(name(b)) ?? 0) - (kills.get(name(a)) ?? 0))

  for (const mutant of mutants) {
    const timesIn = (one: Collected): number => hits.byTest[one.name]?.[mutant] ?? 0
    const reaching = tests.filter((one) => timesIn(one) > 0)
    const loading = testFiles.filter((file) => byFile.get(file)?.has(mutant) === true)
    if (fromStart.has(mutant) || (reaching.length === 0 && loading.length === 0)) continue
    say({ _tag: "Trying", mutant })
    switchboard.activeMutant = mutant
    switchboard.hitLimit = reaching.reduce((sum, one) => sum + timesIn(one), leastHits) * loopFactor
    const alone = reaching.filter((one) => !loading.includes(fileOf(one.name)))
    const unseenBy = new Set<string>()
    const passed = (one: Collected, hasMet: boolean): void => {
      if (!hasMet) unseenBy.add(fileOf(one.name))
    }
    const verdict =
      (await killedAmong(
        bestFirst(alone, (one) => one.name),
        passed
      )) ??
      (await killedAnew(
        mutant,
        bestFirst(loading, (file) => file)
      ))
    switchboard.activeMutant = undefined
    switchboard.hitCount = undefined
    if (verdict !== undefined) {
      for (const name of [verdict.by, fileOf(verdict.by)]) kills.set(name, (kills.get(name) ?? 0) + 1)
    }
    if (verdict === undefined && unseenBy.size > 0) say({ _tag: "Unseen", mutant, files: [...unseenBy] })
    else say({ _tag: "Tried", mutant, verdict: verdict ?? { _tag: "Survived" } })
  }
}
