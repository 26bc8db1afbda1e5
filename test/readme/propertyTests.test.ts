import { expect, test } from "bun:test"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { house, readmeBlocks } from "./blocks.ts"

const [block, ...more] = readmeBlocks().filter((one) => one.under.at(-1) === "In property tests")

const runBlock = async (text: string) => {
  // Inside the house, so that `tessera` is this very package.
  const file = join(house, "test/readme", `pasted-${process.pid}.test.ts`)
  writeFileSync(file, text)
  try {
    const child = Bun.spawn([process.execPath, "test", file], { cwd: house, stdout: "pipe", stderr: "pipe" })
    const [status, output] = await Promise.all([child.exited, new Response(child.stderr).text()])
    return { status, output }
  } finally {
    rmSync(file)
  }
}

test("the README's property test is one block of fewer than thirty lines", () => {
  expect(more).toEqual([])
  expect(block?.text.split("\n").length).toBeLessThan(30)
})

test("it passes as it is printed", async () => {
  const { status, output } = await runBlock(block?.text ?? "")
  expect(output).toContain("1 pass")
  expect(status).toBe(0)
}, 120_000)
