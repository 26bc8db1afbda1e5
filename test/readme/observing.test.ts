import { expect, test } from "bun:test"
import { Effect } from "effect"
import { freePort } from "../harness/freePort.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { inFolder, register, started } from "../observe/given/serving.ts"
import { readmeBlocks } from "./blocks.ts"
import { looksLike } from "./looksLike.ts"

const blocks = readmeBlocks().filter(({ under }) => under.at(-1) === "Metrics, traces and the audit stream")

test("the README's look at a server that runs shows what it says", () =>
  inFolder((cwd) =>
    Effect.gen(function* () {
      const port = String(yield* freePort)
      const server = yield* started(cwd, { METRICS_PORT: port })
      yield* register(server.url)
      const [command, output, ...others] = blocks
      expect([command?.language, output?.language, others]).toEqual(["sh", "text", []])
      const typed = command?.text.replaceAll("9464", port) ?? ""
      expect(typed).toContain(port)
      const { stdout } = yield* runProgram("sh", ["-c", typed], { cwd, env: plainEnvironment })
      expect(stdout).toMatch(looksLike(output?.text ?? "no output"))
    })
  ))
