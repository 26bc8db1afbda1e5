import { describe, expect, test } from "bun:test"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { node } from "./given.ts"
import { pollUntil } from "./pollUntil.ts"
import { familyOf, isAlive } from "./processes.ts"

const runner = join(import.meta.dir, "run.mjs")

const testFile = (body: string) => {
  const file = join(mkdtempSync(join(tmpdir(), "run-")), "a.test.ts")
  writeFileSync(file, `import { expect, test } from "bun:test"\n${body}`)
  return file
}

const runFiles = (...args: ReadonlyArray<string>) => {
  const { status, stderr } = spawnSync(node(), [runner, "--without-services", ...args], { encoding: "utf8" })
  return { status, last: stderr.trim().split("\n").slice(-2) }
}

const run = (body: string, ...args: ReadonlyArray<string>) => runFiles(testFile(body), ...args)

describe("npm test", () => {
  test("succeeds when everything passes, and says how much that was", () => {
    const { status, last } = run(`test("a", () => {})\ntest("b", () => {})`)
    expect(last.at(-1)).toBe("2 passed, 0 failed")
    expect(status).toBe(0)
  })

  test("fails when a test fails", () => {
    const { status, last } = run(`test("a", () => {})\ntest("b", () => expect(1).toBe(2))`)
    expect(last.at(-1)).toBe("1 passed, 1 failed")
    expect(status).not.toBe(0)
  })

  test("ends with what failed, however much was said since", () => {
    const { status, last } = run(`test("a", () => expect(1).toBe(2))\ntest("b", () => console.error("b says"))`)
    expect(last).toEqual([expect.stringMatching(/^\(fail\) a/), "1 passed, 1 failed"])
    expect(status).not.toBe(0)
  })

  test("runs files side by side, and tells apart what they say", () => {
    const noisy = `for (const n of Array.from({ length: 50 }).keys())
      test("passes " + n, async () => { console.error("loud", n); await Bun.sleep(1) })`
    const broken = `${noisy}\ntest("breaks", () => expect(1).toBe(2))`
    const { status, last } = runFiles(testFile(noisy), testFile(broken), testFile(noisy))
    expect(last).toEqual([expect.stringMatching(/^\(fail\) breaks/), "150 passed, 1 failed"])
    expect(status).not.toBe(0)
  })

  test("fails when the process of a file ends before its tests", () => {
    const { status, last } = runFiles(testFile(`test("a", () => {})`), testFile(`test("b", () => process.exit(0))`))
    expect(last.at(-1)).toMatch(/^1 passed, [1-9]\d* failed$|nobody knows what passed$/)
    expect(status).not.toBe(0)
  })

  test("fails when a file cannot be loaded", () => {
    const { status, last } = run(`test("a", () => {})\nthrow new Error("no")`)
    expect(last.at(-1)).toMatch(/^\d+ passed, 1 failed$/)
    expect(status).not.toBe(0)
  })

  test("fails when a test is skipped", () => {
    const { status, last } = run(`test("a", () => {})\ntest.skip("b", () => {})`)
    expect(last).toEqual(["1 skipped: what is not run proves nothing", "1 passed, 0 failed"])
    expect(status).toBe(1)
  })

  test("fails when there is nothing to run", () => {
    const { status, last } = run("expect(1).toBe(1)")
    expect(last).toEqual(["there was nothing to run", "0 passed, 0 failed"])
    expect(status).toBe(1)
  })

  test("fails when no file is meant", () => {
    const ended = spawnSync(node(), [runner, "--without-services", "no/such/file"], { encoding: "utf8" })
    expect(ended.stderr.trim().split("\n").at(-1)).toContain("nobody knows what passed")
    expect(ended.status).not.toBe(0)
  })

  test("passes what it does not know on to bun test", () => {
    const { status, last } = run(`test("a", () => {})\ntest("b", () => expect(1).toBe(2))`, "-t", "^a$")
    expect(last.at(-1)).toBe("1 passed, 0 failed")
    expect(status).toBe(0)
  })
})

interface Stopped {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  /** Processes that the run had started, with their children. */
  readonly family: ReadonlyArray<number>
  /** Files left in its temporary folder. */
  readonly left: ReadonlyArray<string>
}

const exitOf = (child: ChildProcess) =>
  new Promise<Pick<Stopped, "status" | "signal">>((resolve) => {
    child.once("exit", (status, signal) => resolve({ status, signal }))
  })

const byLauncher = () => [node(), runner]
const byNpm = () => ["npm", "test", "--"]

/** Starts a run with its own servers, and sends the signal in the middle of its tests. */
const stop = async (name: NodeJS.Signals, by = byLauncher): Promise<Stopped> => {
  const scratch = mkdtempSync(join(tmpdir(), "stop-"))
  const files = [1, 2].map(() =>
    testFile(`import { writeFileSync } from "node:fs"
      test("hangs", async () => { writeFileSync(import.meta.path + ".begun", ""); await new Promise(() => {}) })`)
  )
  // The servers' folders below belong to other users.
  spawnSync("chmod", ["711", scratch])
  const { TEST_POSTGRES_URL, TEST_REDIS_URL, TEST_REDIS_CLUSTER_URL, ...env } = process.env
  const [command = "", ...args] = by()
  const child = spawn(command, [...args, ...files], {
    cwd: join(import.meta.dir, "../.."),
    env: { ...env, TMPDIR: scratch },
    stdio: "ignore"
  })
  const ended = exitOf(child)
  const begun = await Effect.runPromise(
    pollUntil(
      Effect.sync(() => files.every((file) => existsSync(`${file}.begun`))),
      60_000
    )
  )
  expect(begun).toBe(true)
  const family = familyOf(child.pid ?? 0)
  child.kill(name)
  const how = await ended
  await Effect.runPromise(
    pollUntil(
      Effect.sync(() => !family.some(isAlive)),
      20_000
    )
  )
  return { ...how, family, left: readdirSync(scratch) }
}

describe("stopping npm test", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s takes every server and folder along", async (name) => {
    const { status, family, left } = await stop(name)
    // Launcher, runner, bun test and its processes, PostgreSQL with its children, and four Redis.
    expect(family.length).toBeGreaterThan(8)
    expect(family.filter(isAlive)).toEqual([])
    expect(left).toEqual([])
    expect(status).toBe(name === "SIGTERM" ? 143 : 130)
  })

  test("a signal to npm itself does the same", async () => {
    const { status, signal, family, left } = await stop("SIGTERM", byNpm)
    expect(family.length).toBeGreaterThan(10)
    expect(family.filter(isAlive)).toEqual([])
    expect(left).toEqual([])
    expect(signal ?? status).toBe("SIGTERM")
  })

  test("kill -9 of the launcher takes every server along", async () => {
    const { signal, family } = await stop("SIGKILL")
    expect(signal).toBe("SIGKILL")
    expect(family.length).toBeGreaterThan(8)
    expect(family.filter(isAlive)).toEqual([])
  })
})
