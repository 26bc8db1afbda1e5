import { format, inspect } from "node:util"
import { Console, Context, Effect, Layer, type Scope } from "effect"
import { makeLineWriter, openPipeOf, serverBounds } from "./LineWriter.ts"
import type { LogFormat } from "./logging.ts"

const standardErrorFile = 2

const lostLine = (logFormat: LogFormat) => (linesLost: number) => {
  const time = new Date().toISOString()
  const message = "the log was not read in time, and lines are lost"
  return logFormat === "json"
    ? JSON.stringify({ linesLost, time, level: "Error", message })
    : `[${time}] ERROR: ${message}: ${linesLost}`
}

/** Takes a line of the log as it is to stand there: for lines that every request leads to. Absent, the logger writes. */
export const LogLines = Context.Reference<((line: string) => void) | undefined>("tessera/runtimes/server/LogLines", {
  defaultValue: () => undefined
})

/** What the platforms end a process by that was not caught. */
const crashes = ["uncaughtException", "unhandledRejection"] as const

const onCrash = (act: (thrown: unknown) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      for (const event of crashes) process.on(event, act)
    }),
    () =>
      Effect.sync(() => {
        for (const event of crashes) process.off(event, act)
      })
  )

/**
 * A console whose errors go out in the background. The platforms' own write them at once, and wait: a reader that stands
 * still, such as a collector whose disk is full, would stop every answer.
 */
export const standardError = (logFormat: LogFormat): Layer.Layer<never> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const pipe = openPipeOf(standardErrorFile)
      const file = pipe ?? standardErrorFile
      const writer = makeLineWriter(file, {
        neverWaits: pipe !== undefined,
        open: () => Promise.resolve(file),
        close: () => undefined,
        // There is no other place to say it.
        say: () => undefined,
        lostLine: lostLine(logFormat),
        ...serverBounds
      })
      yield* Effect.addFinalizer(() => Effect.promise(writer.flush))
      let crashed = false
      // The end of the process would take with it what waits, and that is what led there.
      yield* onCrash((thrown) => {
        writer.write(inspect(thrown))
        if (crashed) return
        crashed = true
        void writer.flush().then(() => process.exit(1))
      })
      const error = (...said: ReadonlyArray<unknown>) => writer.write(format(...said))
      return Context.make(Console.Console, { ...globalThis.console, error }).pipe(
        Context.add(LogLines, logFormat === "json" ? writer.write : undefined)
      )
    })
  )

/** What a library says past the logger, as the driver of Redis does, is a line of the log like any other. */
export const logsWarnings: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const { warn } = console
      console.warn = (...said: ReadonlyArray<unknown>) => void run(Effect.logWarning(format(...said)))
      return warn
    }),
    (warn) =>
      Effect.sync(() => {
        console.warn = warn
      })
  )
})
