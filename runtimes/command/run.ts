import {
  Cause,
  ConfigProvider,
  Console,
  Effect,
  Exit,
  Fiber,
  FileSystem,
  Layer,
  Logger,
  Path,
  Stdio,
  Terminal
} from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { ChildProcessSpawner } from "effect/process"
import type { OnHangUp } from "../observe/audit.ts"
import { systemCode } from "../serve/defect.ts"
import type { Surroundings } from "../server/serve.ts"
import { CommandFailed, exitStatus } from "./output.ts"
import { tessera } from "./tessera.ts"
import { serves, version } from "./version.ts"

const unused = Effect.die("the command line asks for no such thing")

/** Help that was not asked for is no output, and must not reach whatever reads that. */
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
const environment = Layer.mergeAll(
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

/**
 * Random bits as base64url, 22 characters or the first eight of them, and the 43 of a signing key's thumbprint: one in 64
 * begins as a flag does. What could be the name of a flag is one.
 */
const isDashedId = (arg: string): boolean =>
  /^-(?!-[a-z-]+$)(?:[A-Za-z0-9_-]{7}|[A-Za-z0-9_-]{21}|[A-Za-z0-9_-]{42})$/.test(arg)

const takesId = /^--(?:client|id|place|user|workspace)$/

/** `--client=ID` for `--client ID`, where the id begins with a dash: it would be taken for the next flag. */
const withTheirFlags = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isValue = (at: number) => takesId.test(args[at - 1] ?? "") && isDashedId(args[at] ?? "")
  return args.flatMap((arg, at) => (isValue(at) ? [] : [isValue(at + 1) ? `${arg}=${args[at + 1]}` : arg]))
}

/** Ids behind the `--` that ends the flags, each with what follows it: one that begins with a dash is no flag. */
const idsLast = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  const before = withTheirFlags(end < 0 ? args : args.slice(0, end))
  const moves: Array<boolean> = []
  for (const [at, arg] of before.entries())
    moves.push(isDashedId(arg) || (moves[at - 1] === true && !arg.startsWith("-")))
  const ids = before.filter((_, at) => moves[at])
  const after = end < 0 ? [] : args.slice(end + 1)
  if (ids.length === 0) return end < 0 ? before : [...before, "--", ...after]
  return [...before.filter((_, at) => !moves[at]), "--", ...ids, ...after]
}

/** As shells have it for what Ctrl-C ends. A server is meant to be ended so. */
const interrupted = 130

const statusOf = (exit: Exit.Exit<void, unknown>, serves: boolean): number => {
  if (Exit.isSuccess(exit)) return exitStatus.done
  if (Cause.hasInterruptsOnly(exit.cause)) return serves ? exitStatus.done : interrupted
  const error = Cause.squash(exit.cause)
  if (CliError.isCliError(error)) return exitStatus.usage
  const known = error instanceof CommandFailed
  // A defect of ours is told whole: the user of a command may see it.
  process.stderr.write(`${known ? error.message : Cause.pretty(exit.cause)}\n`)
  return known ? error.status : exitStatus.failed
}

interface Output {
  readonly console: Console.Console
  /** Once all is out: why standard output does not hold it. A reader that has gone wanted no more. */
  readonly end: (then: (refusal: string | undefined) => void) => void
}

/** Standard output, as the platform's own `console` does not tell of it: on a full disk what is printed is lost. */
const openOutput = (): Output => {
  let refusal: string | undefined
  let underWay = 0
  let whenOut = (): void => undefined
  const written = (error: Error | null | undefined) => {
    underWay--
    if (error && systemCode(error) !== "EPIPE") refusal ??= systemCode(error) ?? "unknown failure"
    if (underWay === 0) whenOut()
  }
  const write = (text: string) => {
    underWay++
    process.stdout.write(text, written)
  }
  return {
    console: { ...globalThis.console, log: (...said) => write(`${said.join(" ")}\n`) },
    end: (then) => {
      whenOut = () => then(refusal)
      write("")
    }
  }
}

/** Runs one command to its end. The first signal asks it to finish; the second does not ask. */
const run = async (args: ReadonlyArray<string>, surroundings: Surroundings, output: Output): Promise<number> => {
  // The reader of the output has gone. Other requests are served on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
  const hangUps = new Set<() => void>()
  const onHangUp: OnHangUp = (act) => {
    hangUps.add(act)
    return () => void hangUps.delete(act)
  }
  const fiber = Effect.runFork(
    Command.runWith(tessera({ ...surroundings, onHangUp }), { version })(idsLast(args)).pipe(
      Effect.provide(environment),
      Effect.provideService(Console.Console, output.console),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({ ...process.env }))
    )
  )
  let signalled = false
  const end = () => {
    if (signalled) process.exit(exitStatus.failed)
    signalled = true
    fiber.interruptUnsafe()
  }
  process.on("SIGTERM", end)
  process.on("SIGINT", end)
  process.on("SIGHUP", () => {
    // SIGHUP tells a server with log files that they were moved; for any other its terminal is gone.
    if (hangUps.size === 0 || surroundings.interactive) end()
    else for (const act of hangUps) act()
  })
  return statusOf(await Effect.runPromise(Fiber.await(fiber)), serves(args))
}

/** What a server says last waits for no reader that stands still. */
const patience = 3000

/** Ends the process once what it wrote is out: a pipe takes a long text piece by piece. */
const leave = (status: number, args: ReadonlyArray<string>, output: Output): void => {
  if (serves(args)) setTimeout(() => process.exit(status), patience)
  output.end((refusal) => {
    const isLost = refusal !== undefined && !serves(args)
    const last = isLost && status === exitStatus.done ? exitStatus.failed : status
    const told = isLost ? `What was to be printed could not be written: ${refusal}.\n` : ""
    process.stderr.write(told, () => process.exit(last))
  })
}

/** The whole program, with what its platform listens by. */
export const program = async (listen: Surroundings["listen"]): Promise<void> => {
  const args = process.argv.slice(2)
  const output = openOutput()
  const surroundings: Surroundings = {
    listen,
    interactive: process.stderr.isTTY === true,
    print: (text) => void process.stdout.write(text)
  }
  leave(await run(args, surroundings, output), args, output)
}
