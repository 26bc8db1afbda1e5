import { describe, expect, test } from "bun:test"
import { Cause, Console, Effect } from "effect"
import { logging } from "../../runtimes/server/logging.ts"

/** What is written of an effect's log entries, line by line. */
const linesOf = (effect: Effect.Effect<unknown>): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const console = { ...globalThis.console, error: (...said: ReadonlyArray<unknown>) => void lines.push(said.join(" ")) }
  Effect.runSync(effect.pipe(Effect.provide(logging("json")), Effect.provideService(Console.Console, console)))
  return lines
}

const written = (effect: Effect.Effect<unknown>) => {
  const [line = "", ...others] = linesOf(effect)
  expect(others).toEqual([])
  expect(line).not.toContain("\n")
  // A line that is no JSON fails right here.
  return JSON.parse(line) as Readonly<Record<string, unknown>>
}

describe("a line of the log in JSON", () => {
  test("has time, level and message, and beside them the fields that came along", () => {
    const line = written(Effect.logInfo("refused", { requestId: "r", endpoint: "/oauth/token" }, "again"))
    expect(line).toMatchObject({ level: "Info", message: "refused again", requestId: "r", endpoint: "/oauth/token" })
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect("traceId" in line).toBe(false)
  })

  test("lets no field stand for what is its own", () => {
    const line = written(Effect.logWarning("said", { time: "never", level: "none", message: "other" }))
    expect(line).toMatchObject({ level: "Warn", message: "said" })
    expect(line.time).not.toBe("never")
  })

  test("stays one line, and JSON, whatever it is given", () => {
    const circle: Record<string, unknown> = { requestId: "r" }
    circle.itself = circle
    expect(written(Effect.logError("a circle", circle))).toMatchObject({
      message: "a circle",
      unreadable: ["requestId", "itself"]
    })
    expect(written(Effect.logError("two\nlines", { big: 1n, text: "a\nb" }))).toMatchObject({ big: "1", text: "a\nb" })
    expect(written(Effect.logError("failed", new TypeError("no such thing"))).message).toBe(
      "failed TypeError: no such thing"
    )
    expect(written(Effect.logError("failed", Cause.die(new Error("broken")))).cause).toContain("Error: broken")
  })

  test("names the span of a traced request, and none elsewhere", () => {
    const inSpan = Effect.withSpan(Effect.logInfo("in a span"), "one")
    const line = written(Effect.withTracerEnabled(inSpan, true))
    expect(line.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(line.spanId).toMatch(/^[0-9a-f]{16}$/)
    expect(written(inSpan)).not.toHaveProperty("spanId")
  })
})
