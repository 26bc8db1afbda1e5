import { Cause, Effect, Exit, Fiber } from "effect"
import { findNode22 } from "../test/harness/machine/findNode22.ts"
import { quick, thorough } from "./measure/Options.ts"
import type { Result } from "./measure/Result.ts"
import type { Part, Setting } from "./parts/Part.ts"
import { sealed, sealedNode } from "./parts/sealed.ts"
import { table } from "./report/table.ts"

const parts: ReadonlyArray<Part> = [sealed, sealedNode]
const say = (line: string) => process.stderr.write(`${line}\n`)
const args = process.argv.slice(2)
const only = args.flatMap((word, at) => (word === "--only" ? (args[at + 1] ?? "").split(",") : []))
const wanted = only.length === 0 ? parts : parts.filter((part) => only.includes(part.name))

const program = Effect.gen(function* () {
  const setting: Setting = { options: args.includes("--quick") ? quick : thorough, node: yield* findNode22, say }
  const results: Array<Result> = []
  for (const part of wanted) results.push(...(yield* Effect.scoped(part.run(setting))))
  process.stdout.write(table(results))
})

const fiber = Effect.runFork(program)
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => Effect.runFork(Fiber.interrupt(fiber)))
}
const exit = await Effect.runPromise(Fiber.await(fiber))
if (Exit.isFailure(exit)) {
  const error = Cause.squash(exit.cause)
  say(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
process.exit(0)
