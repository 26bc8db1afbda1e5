import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { node } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import { nodeBuild } from "./given/nodeBuild.ts"

const tellsWhole = (program: string, main: string) =>
  Effect.forEach(["exception", "rejection"], (how) =>
    Effect.map(runProgram(program, [main, how]), ({ status, stderr }) => {
      expect(stderr.match(/"message":"\w+"|Error: a fault of ours/g)).toEqual([
        '"message":"first"',
        '"message":"second"',
        '"message":"third"',
        "Error: a fault of ours"
      ])
      expect(status).toBe(1)
    })
  )

test("a server that ends by an uncaught error tells that, and every line before it", () =>
  Effect.runPromise(tellsWhole(process.execPath, join(import.meta.dir, "crash/main.ts"))))

test("a server that ends as it is meant to has told every line", () =>
  Effect.runPromise(
    Effect.map(runProgram(process.execPath, [join(import.meta.dir, "crash/main.ts"), "end"]), ({ status, stderr }) => {
      expect(stderr.match(/"message":"\w+"/g)).toEqual(['"message":"first"', '"message":"second"', '"message":"third"'])
      expect(status).toBe(0)
    })
  ))

test("and on Node", () =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(nodeBuild, (build) => tellsWhole(node(), join(build, "test/runtimes/crash/main.js"))))
  ))
