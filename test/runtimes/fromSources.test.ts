import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { serverProgram } from "../given/serverProgram.ts"
import { readCounts } from "../harness/Counts.ts"
import { failuresIn } from "../harness/failuresIn.ts"
import { runProgram } from "../harness/runProgram.ts"

const root = join(import.meta.dir, "../..")

/**
 * Every other test asks the executable, which starts four times as fast. What `npm start` runs is the same but for how
 * it starts and ends, so that is asked here, and one client goes all the way.
 */
const suites = {
  "a client library": ["test/clients/oauth4webapi.test.ts"],
  "how `tessera serve` starts and ends": [
    "test/runtimes/serve.test.ts",
    "--test-name-pattern=^tessera serve (needs nothing|has after kill|ends|answers, and ends)"
  ]
}

describe("the server from its sources passes the tests of", () => {
  for (const [name, asked] of Object.entries(suites)) {
    test(name, async () => {
      expect(serverProgram("").args).toContain(join(root, "runtimes/bun/main.ts"))
      const args = ["--no-orphans", "--no-env-file", "test", "--timeout=60000", ...asked]
      const env = { ...process.env, TESSERA_EXECUTABLE: "" }
      const ended = await Effect.runPromise(runProgram(process.execPath, args, { cwd: root, env }))
      expect(failuresIn(ended.stderr).join("\n\n")).toBe("")
      const counts = readCounts(ended.stderr)
      // A pattern leaves out what it does not name.
      expect([ended.status, counts]).toEqual([0, { pass: expect.any(Number), fail: 0, skip: 0 }])
      expect(counts?.pass).toBeGreaterThan(asked.length)
    })
  }
})
