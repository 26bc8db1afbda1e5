import { describe, expect, test } from "bun:test"
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeCeiling } from "../../runtimes/observe/ceiling.ts"
import { makeLineWriter, openAppending } from "../../runtimes/server/LineWriter.ts"

const most = 1000

const inFolder = () => join(mkdtempSync(join(tmpdir(), "ceiling-")), "audit")

const linesIn = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [])

const opened = async (path: string, said: Array<string> = []) =>
  makeLineWriter(await openAppending(path), {
    open: () => openAppending(path),
    close: closeSync,
    isOver: makeCeiling(path, most, (code) => said.push(code)),
    say: (trouble) => said.push(trouble._tag),
    lostLine: (count) => `lost ${count}`,
    room: 100_000,
    retryMillis: 1,
    patienceMillis: 60_000
  })

/** Of a hundred bytes with its end. */
const lineOf = (name: string) => name.padEnd(99, ".")

/** Every line is a write of its own. */
const writeEach = async (path: string, names: ReadonlyArray<string>, said: Array<string> = []) => {
  for (const name of names) {
    const writer = await opened(path, said)
    writer.write(lineOf(name))
    expect(await writer.flush()).toBe(0)
    const sizes = [path, `${path}.1`].map((each) => (existsSync(each) ? statSync(each).size : 0))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(most / 2)
  }
}

const named = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`)

describe("a file with a ceiling", () => {
  test("is moved at half of it, in place of the one before, and holds whole lines in their order", async () => {
    const path = inFolder()
    await writeEach(path, named(1, 5))
    expect(existsSync(`${path}.1`)).toBe(false)
    await writeEach(path, named(6, 7))
    expect(linesIn(`${path}.1`)).toEqual(named(1, 5).map(lineOf))
    expect(linesIn(path)).toEqual(named(6, 7).map(lineOf))
    await writeEach(path, named(8, 13))
    expect(linesIn(`${path}.1`)).toEqual(named(6, 10).map(lineOf))
    expect(linesIn(path)).toEqual(named(11, 13).map(lineOf))
    expect(existsSync(`${path}.moving`)).toBe(false)
  })

  test("keeps every line of several writers that share it", async () => {
    const path = inFolder()
    const writers = await Promise.all([opened(path), opened(path), opened(path)])
    // All together are less than the ceiling, so nothing is replaced.
    for (let round = 1; round <= 3; round++) {
      for (const [at, writer] of writers.entries()) writer.write(lineOf(`${at} ${round}`))
      // Each has written what it took when it answers.
      await Promise.all(writers.map(async () => new Promise((resolve) => setImmediate(resolve))))
    }
    for (const writer of writers) expect(await writer.flush()).toBe(0)
    const all = [...linesIn(`${path}.1`), ...linesIn(path)]
    const expected = writers.flatMap((_, at) => [1, 2, 3].map((round) => lineOf(`${at} ${round}`)))
    expect([...all].sort()).toEqual(expected.sort())
  })

  test("that another process moved is left for the one that has the name now, before a line is written", async () => {
    const path = inFolder()
    const isOver = makeCeiling(path, most, () => undefined)
    const file = await openAppending(path)
    expect(await isOver(file, 1)).toBe(false)
    renameSync(path, `${path}.1`)
    // An operator who moves a file by hand asks for a new one by a signal.
    expect(await isOver(file, 1)).toBe(false)
    writeFileSync(path, "new\n")
    expect(await isOver(file, 1)).toBe(true)
    expect(readFileSync(path, "utf8")).toBe("new\n")
    closeSync(file)
  })

  test("is left alone while another process moves it, unless that one is gone for long", async () => {
    const path = inFolder()
    const isOver = makeCeiling(path, most, () => undefined)
    writeFileSync(path, "x".repeat(most))
    const file = await openAppending(path)
    writeFileSync(`${path}.moving`, "")
    expect(await isOver(file, 1)).toBe(false)
    utimesSync(`${path}.moving`, 0, 0)
    expect(await isOver(file, 1)).toBe(false)
    expect(await isOver(file, 1)).toBe(true)
    expect(existsSync(path)).toBe(false)
    closeSync(file)
  })

  test("that can't be moved grows, and that is said once", async () => {
    const path = inFolder()
    mkdirSync(`${path}.1`)
    writeFileSync(join(`${path}.1`, "in the way"), "")
    const said: Array<string> = []
    const isOver = makeCeiling(path, most, (code) => said.push(code))
    writeFileSync(path, "x".repeat(most))
    const file = await openAppending(path)
    for (let n = 0; n < 3; n++) expect(await isOver(file, 1)).toBe(false)
    expect(said).toHaveLength(1)
    closeSync(file)
  })
})
