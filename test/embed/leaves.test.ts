import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { node22 } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"

const program = join(import.meta.dir, "leaves.ts")

// What keeps it alive would keep it for ever: it is the test's own patience that ends then.
for (const [name, run] of [
  ["Bun", () => runProgram(process.execPath, [program])],
  ["Node", () => runProgram(node22(), ["--experimental-strip-types", "--disable-warning=ExperimentalWarning", program])]
] as const) {
  test(`a program ends by itself when it is done, its chores notwithstanding, on ${name}`, async () => {
    const ended = await Effect.runPromise(run())
    expect(ended).toEqual({ status: 0, stdout: "8\n", stderr: "" })
  }, 30_000)
}
