import { Cause, Effect, Exit, Fiber, Result } from "effect"
import { playModel } from "./playModel.ts"
import { readWish } from "./Wish.ts"

const say = (line: string): void => console.log(line)

const wish = readWish(process.argv.slice(2), () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0)
if (Result.isFailure(wish)) {
  console.error(wish.failure)
  process.exit(2)
}

const fiber = Effect.runFork(playModel(wish.success, say))
// Interrupted, so that the script that is under way takes its records out of the store.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => fiber.interruptUnsafe())
const exit = await Effect.runPromise(Fiber.await(fiber))
if (Exit.isFailure(exit)) {
  const failure = Cause.squash(exit.cause)
  console.error(failure instanceof Error ? failure.message : String(failure))
}
process.exit(Exit.isSuccess(exit) && exit.value ? 0 : 1)
