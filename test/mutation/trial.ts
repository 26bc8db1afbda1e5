import { test } from "bun:test"
import { join } from "node:path"
import { type Collected, takeCollected } from "./collected.ts"
import { type Hits, type Job, jobVariable, mark, type Said } from "./Job.ts"
import { allSources, root, testFiles } from "./targets.ts"

/** What instrumented code shares with its runner; the names are Stryker's. */
interface Switchboard {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  mutantCoverage?: {
    readonly static: { readonly [mutant: string]: number }
    readonly perTest: { readonly [test: string]: { readonly [mutant: string]: number } }
  }
}

declare global {
  var __stryker__: Switchboard | undefined
}

const board: Switchboard = {}
globalThis.__stryker__ = board

const say = (said: Said): void => {
  process.stdout.write(`${mark}${JSON.stringify(said)}\n`)
}

/** A test that takes this long has been sent waiting by the mutant: none takes a tenth of it. */
const patience = 5000

/** A loop that turns this much more often than in all tests together does not end. */
const loopFactor = 100

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 2000)

/** Why the test failed, if it did. */
const failureOf = async (one: Collected): Promise<string | undefined> => {
  let timer: Timer | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("no end"), patience)
  })
  try {
    const result = one.run()
    return result instanceof Promise ? await Promise.race([result.then(() => undefined), late]) : undefined
  } catch (error) {
    return reasonOf(error)
  } finally {
    clearTimeout(timer)
  }
}

const load = async (file: string, anewFor = ""): Promise<ReadonlyArray<Collected>> => {
  await import(join(root, file) + anewFor)
  return takeCollected().map((one) => ({ ...one, name: `${file} > ${one.name}` }))
}

const loadSources = async (): Promise<void> => {
  for (const file of allSources()) await import(join(root, file))
}

const reachedSoFar = (): ReadonlyArray<string> => Object.keys(board.mutantCoverage?.static ?? {})

/** Runs every test once as the sources are, and notes what each reaches. */
const look = async (tests: ReadonlyArray<Collected>, reached: Omit<Hits, "byTest">): Promise<Hits | undefined> => {
  for (const one of tests) {
    board.currentTestId = one.name
    const failure = await failureOf(one)
    if (failure !== undefined) {
      say({ _tag: "Unsound", test: one.name, reason: failure })
      return undefined
    }
  }
  board.currentTestId = undefined
  const hits: Hits = { ...reached, byTest: board.mutantCoverage?.perTest ?? {} }
  say({ _tag: "Reached", hits })
  return hits
}

/** The first of the tests that fails. */
const killerAmong = async (tests: ReadonlyArray<Collected>): Promise<string | undefined> => {
  for (const one of tests) {
    board.hitCount = 0
    if ((await failureOf(one)) !== undefined) return one.name
  }
  return undefined
}

/** The same, with the files of tests loaded while the mutant is at work: some reach it as they are loaded. */
const killerLoadedAnew = async (mutant: string, files: ReadonlyArray<string>): Promise<string | undefined> => {
  for (const file of files) {
    try {
      const by = await killerAmong(await load(file, `?${mutant}`))
      if (by !== undefined) return by
    } catch {
      takeCollected()
      return `${file}, which cannot be loaded`
    }
  }
  return undefined
}

const trySwitched = async (mutants: ReadonlyArray<string>, known: Hits | undefined): Promise<void> => {
  await loadSources()
  const atStart = reachedSoFar()
  const tests: Array<Collected> = []
  for (const file of testFiles) tests.push(...(await load(file)))
  const hits = known ?? (await look(tests, { atStart, atLoad: reachedSoFar() }))
  if (hits === undefined) return
  const fromStart = new Set(hits.atStart)
  const atLoad = new Set(hits.atLoad)
  /** How many mutants a test, or a file of tests, has killed: who killed many is asked first. */
  const kills = new Map<string, number>()
  const bestFirst = <A>(all: ReadonlyArray<A>, name: (one: A) => string): ReadonlyArray<A> =>
    all.toSorted((a, b) => (kills.get(name(b)) ?? 0) - (kills.get(name(a)) ?? 0))

  for (const mutant of mutants) {
    const reaching = tests.filter((one) => (hits.byTest[one.name]?.[mutant] ?? 0) > 0)
    if (fromStart.has(mutant) || (reaching.length === 0 && !atLoad.has(mutant))) continue
    say({ _tag: "Trying", mutant })
    const usual = reaching.reduce((sum, one) => sum + (hits.byTest[one.name]?.[mutant] ?? 0), 1000)
    Object.assign(board, { activeMutant: mutant, hitCount: 0, hitLimit: usual * loopFactor })
    const by = atLoad.has(mutant)
      ? await killerLoadedAnew(
          mutant,
          bestFirst(testFiles, (file) => file)
        )
      : await killerAmong(bestFirst(reaching, (one) => one.name))
    Object.assign(board, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined })
    if (by !== undefined) {
      for (const name of [by, by.split(" > ", 1)[0] ?? ""]) kills.set(name, (kills.get(name) ?? 0) + 1)
    }
    say(by === undefined ? { _tag: "Survived", mutant } : { _tag: "Killed", mutant, by })
  }
}

const tryFromStart = async (mutant: string, files: ReadonlyArray<string>): Promise<void> => {
  board.activeMutant = mutant
  say({ _tag: "Trying", mutant })
  for (const file of files) {
    try {
      for (const one of await load(file)) {
        if ((await failureOf(one)) !== undefined) return say({ _tag: "Killed", mutant, by: one.name })
      }
    } catch {
      return say({ _tag: "Killed", mutant, by: `${file}, which cannot be loaded` })
    }
  }
  say({ _tag: "Survived", mutant })
}

test(
  "a trial",
  async () => {
    // Written by the process that started this one.
    const job = JSON.parse(process.env[jobVariable] ?? "") as Job
    await (job._tag === "Switched" ? trySwitched(job.mutants, job.hits) : tryFromStart(job.mutant, job.files))
    say({ _tag: "Done" })
    process.exit(0)
  },
  2 ** 30
)
