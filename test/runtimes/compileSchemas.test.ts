import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"

const root = join(import.meta.dirname, "../..")
const compiling = "runtimes/server/compileSchemas.ts"

test.each(["bun/program.ts", "node/main.ts"])("the server of %s compiles its schemas, all of them", (file) => {
  const imports = readFileSync(join(root, "runtimes", file), "utf8").match(/^import .*$/gm)
  expect(imports?.[0]).toBe(`import "../server/compileSchemas.ts"`)
})

test(
  "compiled schemas read every kind of record as interpreted ones do",
  () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const env = { ...plainEnvironment, TESSERA_RUNS: "100" }
        const args = ["test", "--preload", `./${compiling}`, "./test/laws/stored.test.ts"]
        const { status, stderr } = yield* runProgram(process.execPath, args, { cwd: root, env })
        expect(stderr).toContain(" 0 fail")
        expect(status).toBe(0)
      })
    ),
  60_000
)
