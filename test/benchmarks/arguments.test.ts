import { expect, test } from "bun:test"
import { readArguments } from "../../benchmarks/arguments.ts"
import { allParts } from "../../benchmarks/parts/all.ts"

test("everything is wanted, or the parts that are named", () => {
  expect(readArguments([])).toMatchObject({ parts: allParts, check: false, from: undefined })
  expect(readArguments(["--only", "lone,floors", "--only=growth", "--check"])).toMatchObject({
    parts: allParts.filter(({ name }) => ["floors", "lone", "growth"].includes(name)),
    check: true
  })
  expect(readArguments(["--only", "lone,loan"])).toContain("There is no part loan.")
})

test("the README is not written from a part of a run, nor from a short one", () => {
  for (const args of [["--only", "sealed"], ["--quick"]]) {
    expect(readArguments([...args, "--readme"])).toContain("--readme takes a whole run")
  }
})

test("a run that was kept is taken as it is", () => {
  for (const args of [["--only", "sealed"], ["--quick"], ["--soak"]]) {
    expect(readArguments(["--from", "run.json", ...args])).toContain("--from takes a run as it was")
  }
  expect(readArguments(["--from", "run.json", "--check"])).toMatchObject({ from: "run.json", check: true })
})
