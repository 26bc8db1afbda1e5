import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { serverProgram } from "../given/serverProgram.ts"
import { readCounts } from "../harness/Counts.ts"
import { runProgram } from "../harness/runProgram.ts"
import { builtBinary } from "./given/binary.ts"

const root = join(import.meta.dir, "../..")

/** What other tests ask of the server from its sources, they ask of the executable here. */
const suites: Readonly<Record<string, ReadonlyArray<string>>> = {
  // Those two that are not there have a browser, or a Node, between them and the server.
  "clients that we did not write": [
    "test/clients/badgateway.test.ts",
    "test/clients/mcpRevisions.test.ts",
    "test/clients/mcpSdk.test.ts",
    "test/clients/oauth4webapi.test.ts",
    "test/clients/openidClient.test.ts",
    "test/clients/simpleOauth2.test.ts",
    "test/clients/strangers.test.ts"
  ],
  "what `tessera serve` promises": ["test/runtimes/serve.test.ts", "--test-name-pattern=^tessera serve "]
}

describe("the executable passes the tests of", () => {
  let executable: string
  beforeAll(async () => {
    executable = (await Effect.runPromise(builtBinary)).file
  }, 60_000)

  for (const [name, asked] of Object.entries(suites)) {
    test.concurrent(name, async () => {
      expect(serverProgram(executable)).toEqual({ file: executable, args: [], env: {} })
      const args = ["--no-orphans", "--no-env-file", "test", "--timeout=60000", ...asked]
      const env = { ...process.env, TESSERA_EXECUTABLE: executable }
      const ended = await Effect.runPromise(runProgram(process.execPath, args, { cwd: root, env }))
      const failed = ended.status === 0 ? "" : ended.stderr
      expect([failed, readCounts(ended.stderr)]).toEqual(["", { pass: expect.any(Number), fail: 0, skip: 0 }])
      expect(readCounts(ended.stderr)?.pass).toBeGreaterThan(asked.length)
    })
  }
})
