import { Effect, Layer } from "effect"
import { logging } from "../../../runtimes/server/logging.ts"
import { standardError } from "../../../runtimes/server/standardError.ts"

const [, , how] = process.argv

const crash = (): void => {
  const fault = new Error("a fault of ours")
  if (how === "rejection") void Promise.reject(fault)
  else throw fault
}

/** A server whose log is piped, as it ends: by a crash, right after some lines that lead to it, or as it is meant to. */
const fiber = Effect.runFork(
  Effect.gen(function* () {
    for (const line of ["first", "second", "third"]) yield* Effect.logError(line)
    if (how === "end") return
    queueMicrotask(crash)
    return yield* Effect.never
  }).pipe(Effect.provide(Layer.merge(logging("json"), standardError("json"))))
)
fiber.addObserver(() => process.exit(0))
