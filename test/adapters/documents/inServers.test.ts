import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../../harness/runProgram.ts"
import { runtimes } from "../sqlite/runtimes.ts"
import { certificates } from "./certificates.ts"

const program = join(import.meta.dir, "inServers.ts")

for (const [runtime, command] of runtimes) {
  test(`servers on ${runtime} fetch from hosts that are let in, and load nothing for it before`, async () => {
    const play = Effect.gen(function* () {
      const [file, ...flags] = command()
      return yield* runProgram(file, [...flags, program, yield* certificates])
    })
    const { status, stderr, stdout } = await Effect.runPromise(Effect.scoped(play))
    expect([status, status === 0 ? "" : stderr]).toEqual([0, ""])
    const lines = stdout.split("\n").filter((line) => line.startsWith(`{"server"`))
    const came = ["1 found", "unreachable"]
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      { server: "embedded", before: [], came, after: true },
      { server: "application", came }
    ])
  }, 60_000)
}
