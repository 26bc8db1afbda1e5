import { expect, test } from "bun:test"
import { Effect } from "effect"
import { freePort } from "../harness/freePort.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { inFolder, register, started } from "../observe/given/serving.ts"
import { serverPage, under } from "./blocks.ts"
import { looksLike } from "./looksLike.ts"

const blocks = under(serverPage, "Metrics, traces and the audit stream")

test("the README's look at a server that runs shows what it says", () =>
  inFolder((cwd) =>
    Effect.gen(function* () {
      const port = String(yield* freePort)
      const server = yield* started(cwd, { METRICS: port, AUDIT: "./audit.jsonl" })
      yield* register(server.url)
      expect(blocks.map(({ language }) => language)).toEqual(["sh", "text", "sh", "text"])
      for (const [at, { language, text }] of blocks.entries()) {
        if (language !== "sh") continue
        const typed = text.replaceAll("9464", port)
        const { stdout } = yield* runProgram("sh", ["-c", typed], { cwd, env: plainEnvironment })
        expect(stdout).toMatch(looksLike(blocks[at + 1]?.text ?? "no output"))
      }
    })
  ))
