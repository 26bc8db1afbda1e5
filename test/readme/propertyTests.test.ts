import { expect, test } from "bun:test"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { house, propertyTests } from "./blocks.ts"

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

test.each(propertyTests().map((block) => [block.page, block.text] as const))(
  "a property test passes as %s prints it",
  async (_, text) => {
    const { output, status } = await runBlock(text)
    expect(output).toContain("1 pass")
    expect(status).toBe(0)
  },
  120_000
)
