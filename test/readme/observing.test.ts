import { expect, test } from "bun:test"
import { AuditLine } from "../../runtimes/observe/audit.ts"
import { freePort } from "../harness/freePort.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { inFolder } from "../harness/scoped.ts"
import { register, started } from "../observe/given/serving.ts"
import { serverPage, under } from "./blocks.ts"
import { looksLike } from "./looksLike.ts"
import { tableRows } from "./tables.ts"

/** The pieces of code in a cell. */
const wordsIn = (cell = ""): ReadonlyArray<string> => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word)

test("the page of the audit stream names each event, with its fields and what a change may be", () => {
  const told = new Map(
    tableRows("runtimes/observe/README.md", "`event`").flatMap(([events, fields]) =>
      wordsIn(events).map((event) => [event, wordsIn(fields)] as const)
    )
  )
  const common = ["time", "workspace", "requestId", "event"]
  const members = AuditLine.members.map(({ fields }) => ({
    event: fields.event.literal as string,
    words: [
      ...Object.keys(fields).filter((name) => !common.includes(name)),
      ...("change" in fields && "literals" in fields.change ? fields.change.literals : [])
    ]
  }))
  expect([...told.keys()].toSorted()).toEqual(members.map(({ event }) => event).toSorted())
  for (const { event, words } of members) {
    expect([event, words.filter((word) => told.get(event)?.includes(word) !== true)]).toEqual([event, []])
  }
})

const blocks = under(serverPage, "Metrics, traces and the audit stream")

test("the README's look at a server that runs shows what it says", () =>
  inFolder(function* (cwd) {
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
  }))
