import { expect, test } from "bun:test"
import { Console, Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { Audit, type AuditEntry } from "../../core/ports/Audit.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { auditLog } from "../../runtimes/server/auditLog.ts"
import { logging } from "../../runtimes/server/logging.ts"
import { LogLines } from "../../runtimes/server/standardError.ts"

const at = Date.UTC(2026, 10, 23, 12)

const entryOf = (event: AuditEntry["event"]): AuditEntry => ({
  at,
  workspace: WorkspaceId.make("main"),
  requestId: "0123456789abcdef",
  event
})

const entries = [
  entryOf({ _tag: "TokensIssued", grantType: "refresh_token", client: "c", scope: 'a "b"', grant: "12345678" }),
  entryOf({ _tag: "ClientRegistered", client: "c" }),
  entryOf({ _tag: "Refused", endpoint: "/oauth/token", refusal: "InvalidGrant", reason: "forged" })
]

/** The log's lines of these entries: written by the logger, or past it. */
const linesOf = async (way: "logger" | "direct", least: "Info" | "Warn" = "Info") => {
  const lines: Array<string> = []
  const console = { ...globalThis.console, error: (...said: ReadonlyArray<unknown>) => void lines.push(said.join(" ")) }
  const surroundings = Layer.mergeAll(
    logging("json"),
    Layer.succeed(Console.Console, console),
    Layer.succeed(References.MinimumLogLevel, least),
    Layer.succeed(LogLines, way === "direct" ? (line: string) => void lines.push(line) : undefined),
    TestClock.layer()
  )
  await Effect.runPromise(
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      const audit = yield* Audit
      for (const entry of entries) yield* audit.record(entry)
    }).pipe(Effect.provide(auditLog.pipe(Layer.provideMerge(surroundings))))
  )
  return lines
}

test("a line past the logger is the very line that the logger writes", async () => {
  const direct = await linesOf("direct")
  expect(direct.length).toBe(2)
  expect(direct).toEqual(await linesOf("logger"))
})

test("a log that tells less than events tells none of them, either way", async () => {
  expect(await linesOf("direct", "Warn")).toEqual([])
  expect(await linesOf("logger", "Warn")).toEqual([])
})
