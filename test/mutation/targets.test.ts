import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mutated, root, testFiles } from "./targets.ts"

const kept = spawnSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "--", "core", "runtimes/guard", "test"],
  {
    cwd: root,
    encoding: "utf8"
  }
).stdout.split("\n")

test("every file of the core and of the guards is mutated, but for pages and what proves the rest", () => {
  const decides = kept.filter((path) => /^(?:core\/(?!pages\/|testing\/)|runtimes\/guard\/).*\.ts$/.test(path))
  expect(decides.length).toBeGreaterThan(100)
  expect(decides.filter((path) => !mutated.includes(path))).toEqual([])
  expect(mutated.filter((path) => !decides.includes(path))).toEqual([])
})

test("every folder of theirs has tests that its mutants are tried on", () => {
  const rooms = new Set(mutated.flatMap((path) => /^(?:core|runtimes)\/([^/]+)\//.exec(path)?.slice(1) ?? []))
  expect([...rooms].filter((room) => !testFiles.some((file) => file.startsWith(`test/${room}/`)))).toEqual([])
})
