import { format } from "node:util"
import { Console, Effect, Layer } from "effect"
import { makeLineWriter } from "./LineWriter.ts"
import type { LogFormat } from "./logging.ts"

const file = 2

/** In characters: some ten thousand lines. */
const room = 4 * 1024 * 1024
const retryMillis = 1000
const patienceMillis = 3000

const lostLine = (logFormat: LogFormat) => (linesLost: number) => {
  const time = new Date().toISOString()
  const message = "the log was not read in time, and lines are lost"
  return logFormat === "json"
    ? JSON.stringify({ linesLost, time, level: "Error", message })
    : `[${time}] ERROR: ${message}: ${linesLost}`
}

/**
 * A console whose errors go out in the background. The platforms' own write them at once, and wait: a reader that stands
 * still, such as a collector whose disk is full, would stop every answer.
 */
export const standardError = (logFormat: LogFormat): Layer.Layer<never> =>
  Layer.effect(
    Console.Console,
    Effect.gen(function* () {
      const writer = makeLineWriter(file, {
        open: () => Promise.resolve(file),
        close: () => undefined,
        // There is no other place to say it.
        say: () => undefined,
        lostLine: lostLine(logFormat),
        room,
        retryMillis,
        patienceMillis
      })
      yield* Effect.addFinalizer(() => Effect.promise(writer.flush))
      return { ...globalThis.console, error: (...said: ReadonlyArray<unknown>) => writer.write(format(...said)) }
    })
  )
