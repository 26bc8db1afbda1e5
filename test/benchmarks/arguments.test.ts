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
  for (const args of [["--only", "sealed"], ["--quick"], ["--check"], ["--plant", "5"]]) {
    expect(readArguments([...args, "--readme"])).toContain("--readme takes a whole run")
  }
})

test("a run that was kept is taken as it is", () => {
  for (const args of [["--only", "sealed"], ["--quick"], ["--soak"], ["--plant", "5"]]) {
    expect(readArguments(["--from", "run.json", ...args])).toContain("--from takes a run as it was")
  }
  expect(readArguments(["--from", "run.json", "--check"])).toMatchObject({ from: "run.json", check: true })
})

test("a fault is planted by so many microseconds a request, and by nothing else", () => {
  expect(readArguments(["--check"])).toMatchObject({ check: true, plant: 0 })
  expect(readArguments(["--check", "--plant", "5"])).toMatchObject({ check: true, plant: 5 })
  for (const wrong of ["-1", "slow", "20000"]) {
    expect(readArguments(["--check", `--plant=${wrong}`])).toContain("--plant takes microseconds")
  }
})
