import type { Collected } from "./collected.ts"
import { failureOf } from "./failureOf.ts"
import type { Hits, Said } from "./Job.ts"
import { fileOf, load, loadSources } from "./load.ts"
import { look } from "./look.ts"
import { switchboard, takeReached } from "./Switchboard.ts"
import { testFiles } from "./targets.ts"

/** A place that is passed this much more often than in all tests together is in a loop without end. */
const loopFactor = 100
const leastHits = 1000

/** The first of the tests that fails. */
const killerAmong = async (tests: ReadonlyArray<Collected>): Promise<string | undefined> => {
  for (const one of tests) {
    switchboard.hitCount = 0
    if ((await failureOf(one)) !== undefined) return one.name
  }
  return undefined
}

/** The same, with the files of tests loaded while the mutant is at work: these reach it as they are loaded. */
const killerLoadedAnew = async (mutant: string, files: ReadonlyArray<string>): Promise<string | undefined> => {
  for (const file of files) {
    switchboard.hitCount = 0
    try {
      const by = await killerAmong(await load(file, mutant))
      if (by !== undefined) return by
    } catch {
      return `${file} > (cannot be loaded)`
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
  const hits = known ?? (await look(tests, atStart, say))
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
    const by =
      (await killerAmong(bestFirst(alone, (one) => one.name))) ??
      (await killerLoadedAnew(
        mutant,
        bestFirst(loading, (file) => file)
      ))
    switchboard.activeMutant = undefined
    switchboard.hitCount = undefined
    if (by === undefined) {
      say({ _tag: "Survived", mutant })
    } else {
      for (const name of [by, fileOf(by)]) kills.set(name, (kills.get(name) ?? 0) + 1)
      say({ _tag: "Killed", mutant, by })
    }
  }
}
