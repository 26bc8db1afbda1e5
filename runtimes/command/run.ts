import { Cause, ConfigProvider, Effect, Exit, Fiber } from "effect"
import { CliError, Command } from "effect/cli"
import type { OnHangUp } from "../observe/audit/auditStream.ts"
import type { Surroundings } from "../server/serve.ts"
import { environment } from "./environment.ts"
import { idsLast } from "./idsLast.ts"
import { CommandFailed, exitStatus } from "./Outcome.ts"
import { serves } from "./serves.ts"
import { tessera } from "./tessera.ts"
import { version } from "./version.ts"

/** As shells have it for what Ctrl-C ends. A server is meant to be ended so. */
const interrupted = 130

const statusOf = (exit: Exit.Exit<void, unknown>, serves: boolean): number => {
  if (Exit.isSuccess(exit)) return exitStatus.done
  if (Cause.hasInterruptsOnly(exit.cause)) return serves ? exitStatus.done : interrupted
  const error = Cause.squash(exit.cause)
  if (CliError.isCliError(error)) return exitStatus.usage
  const known = error instanceof CommandFailed
  // A defect of ours is told whole: whoever runs a command is the one who may see it.
  process.stderr.write(`${known ? error.message : Cause.pretty(exit.cause)}\n`)
  return known ? error.status : exitStatus.failed
}

/** Runs one command to its end. The first signal asks it to finish; the second does not ask. */
export const run = async (args: ReadonlyArray<string>, surroundings: Surroundings): Promise<number> => {
  // Whoever read what is written has gone. There is nobody left to tell, and others are served on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
  const hangUps = new Set<() => void>()
  const onHangUp: OnHangUp = (act) => {
    hangUps.add(act)
    return () => void hangUps.delete(act)
  }
  const fiber = Effect.runFork(
    Command.runWith(tessera({ ...surroundings, onHangUp }), { version })(idsLast(args)).pipe(
      Effect.provide(environment),
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
    // To whoever keeps files it says that they were moved; else the terminal is gone.
    if (hangUps.size === 0 || surroundings.interactive) end()
    else for (const act of hangUps) act()
  })
  return statusOf(await Effect.runPromise(Fiber.await(fiber)), serves(args))
}
