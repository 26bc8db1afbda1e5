import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { serverProgram } from "../given/serverProgram.ts"
import { readCounts } from "../harness/Counts.ts"
import { failuresIn } from "../harness/failuresIn.ts"
import { runProgram } from "../harness/runProgram.ts"
import { builtBinary } from "./given/binary.ts"

const root = join(import.meta.dir, "../..")

/**
 * What other tests ask of the server from its sources, they ask of the executable here. The transcript, which is played
 * on it whole, holds what it answers.
 */
const suites = {
  "a client library": ["test/clients/oauth4webapi.test.ts"],
  "what proxies and sockets send": ["test/attacks/proxies.test.ts", "test/attacks/wire.test.ts"],
  "what `tessera serve` promises": ["test/runtimes/serve.test.ts", "--test-name-pattern=^tessera serve "]
}

describe("the executable passes the tests of", () => {
  let executable: string
  beforeAll(async () => {
    executable = (await Effect.runPromise(builtBinary)).file
  }, 60_000)

  for (const [name, asked] of Object.entries(suites)) {
    // Each has servers of its own, and waits for them more than it works.
    test.concurrent(name, async () => {
      expect(serverProgram(executable)).toEqual({ file: executable, args: [], env: {} })
      const args = ["--no-orphans", "--no-env-file", "test", "--timeout=60000", ...asked]
      const env = { ...process.env, TESSERA_EXECUTABLE: executable }
      const ended = await Effect.runPromise(runProgram(process.execPath, args, { cwd: root, env }))
      expect(failuresIn(ended.stderr).join("\n\n")).toBe("")
      const counts = readCounts(ended.stderr)
      expect([ended.status, counts]).toEqual([0, { pass: expect.any(Number), fail: 0, skip: 0 }])
      expect(counts?.pass).toBeGreaterThan(asked.length)
    }, 180_000)
  }
})
