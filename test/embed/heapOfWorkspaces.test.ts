import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../harness/runProgram.ts"

const program = join(import.meta.dir, "heapOfWorkspaces.ts")
const clients = 1000

/** In a process of its own, whose heap nothing else fills. */
const heapOf = async (workspaces: number): Promise<number> => {
  const { status, stderr, stdout } = await Effect.runPromise(runProgram(process.execPath, [program, `${workspaces}`]))
  expect([status, stderr]).toEqual([0, ""])
  return Number(stdout)
}

// Each takes the same, however many there are: 10,000 take 20 MB.
test("a workspace in use takes 2 kB of memory, beyond what its client takes in another's", async () => {
  const [one, many] = [await heapOf(1), await heapOf(clients)]
  expect(one).toBeGreaterThan(0)
  expect((many - one) / clients).toBeWithin(500, 2048)
}, 60_000)
