import { Console, Effect, FileSystem, Layer, Logger, Path, Stdio, Terminal } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"
import { ChildProcessSpawner } from "effect/process"

const unused = Effect.die("the command line asks for no such thing")

/** Help that nobody asked for is no output, and must not reach whatever reads that. */
const presenter = CliOutput.layerPresenter({
  present: (event) =>
    event._tag === "Version" || (event._tag === "Help" && event.reason === "Requested")
      ? CliOutput.defaultPresenter.present(event)
      : Effect.flatMap(CliOutput.Formatter, (formatter) =>
          Console.error(
            event._tag === "Help"
              ? formatter.formatHelpDoc(event.helpDoc)
              : `${formatter.formatHelpDoc(event.helpDoc)}\n${formatter.formatErrors(event.errors)}`
          )
        )
})

/**
 * What effect's cli asks of a platform: our commands read no files by flags, start no programs and have no wizard. And
 * where commands log, beside what they were asked for; a server has loggers of its own.
 */
export const environment = Layer.mergeAll(
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]),
  FileSystem.layerNoop({}),
  Path.layer,
  Stdio.layerTest({}),
  Layer.succeed(
    Terminal.Terminal,
    Terminal.make({
      columns: Effect.succeed(process.stdout.columns ?? 80),
      rows: Effect.succeed(process.stdout.rows ?? 24),
      size: unused,
      readInput: unused,
      readLine: unused,
      display: () => Effect.void
    })
  ),
  Layer.succeed(
    ChildProcessSpawner.ChildProcessSpawner,
    ChildProcessSpawner.make(() => unused)
  ),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
  presenter
)
