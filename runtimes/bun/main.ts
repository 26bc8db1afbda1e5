import { Cause, Effect, Exit, Fiber } from "effect"
import { serve } from "../server/serve.ts"
import { listen } from "./listen.ts"

const fiber = Effect.runFork(
  serve({ listen, interactive: process.stderr.isTTY === true, print: (text) => void process.stdout.write(text) })
)

let signalled = false
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (signalled) process.exit(1)
    signalled = true
    Effect.runFork(Fiber.interrupt(fiber))
  })
}

const exit = await Effect.runPromise(Fiber.await(fiber))
if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
  const error = Cause.squash(exit.cause)
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(error instanceof Error && error.name === "WrongSettings" ? 2 : 1)
}
process.exit(0)
