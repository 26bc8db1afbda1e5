import { test } from "bun:test"
import { join } from "node:path"
import { type Collected, takeCollected } from "./collected.ts"
import { type Hits, type Job, jobVariable, mark, type Said } from "./Job.ts"
import { root, testFiles } from "./targets.ts"

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

const load = async (file: string): Promise<ReadonlyArray<Collected>> => {
  await import(join(root, file))
  return takeCollected().map((one) => ({ ...one, name: `${file} > ${one.name}` }))
}

/** Runs every test once as the sources are, and notes what each reaches. */
const look = async (tests: ReadonlyArray<Collected>): Promise<Hits | undefined> => {
  const atLoad = Object.keys(board.mutantCoverage?.static ?? {})
  for (const one of tests) {
    board.currentTestId = one.name
    const failure = await failureOf(one)
    if (failure !== undefined) {
      say({ _tag: "Unsound", test: one.name, reason: failure })
      return undefined
    }
  }
  board.currentTestId = undefined
  const hits: Hits = { atLoad, byTest: board.mutantCoverage?.perTest ?? {} }
  say({ _tag: "Reached", hits })
  return hits
}

const trySwitched = async (mutants: ReadonlyArray<string>, known: Hits | undefined): Promise<void> => {
  const tests: Array<Collected> = []
  for (const file of testFiles) tests.push(...(await load(file)))
  const hits = known ?? (await look(tests))
  if (hits === undefined) return
  const atLoad = new Set(hits.atLoad)
  /** How many mutants a test has killed: who killed many is asked first. */
  const kills = new Map<string, number>()

  for (const mutant of mutants) {
    const reaching = tests.filter((one) => (hits.byTest[one.name]?.[mutant] ?? 0) > 0)
    if (atLoad.has(mutant) || reaching.length === 0) continue
    say({ _tag: "Trying", mutant })
    const usual = reaching.reduce((sum, one) => sum + (hits.byTest[one.name]?.[mutant] ?? 0), 0)
    let by: string | undefined
    for (const one of reaching.toSorted((a, b) => (kills.get(b.name) ?? 0) - (kills.get(a.name) ?? 0))) {
      Object.assign(board, { activeMutant: mutant, hitCount: 0, hitLimit: usual * loopFactor })
      if ((await failureOf(one)) !== undefined) {
        by = one.name
        break
      }
    }
    Object.assign(board, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined })
    if (by !== undefined) kills.set(by, (kills.get(by) ?? 0) + 1)
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
