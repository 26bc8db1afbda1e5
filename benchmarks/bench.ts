import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { findNode22 } from "../test/harness/machine/findNode22.ts"
import { millionInSqlite } from "./measure/million.ts"
import { quick, thorough } from "./measure/Options.ts"
import type { Result } from "./measure/Result.ts"
import { postgresServer, redisServer } from "./measure/services.ts"
import { floors } from "./parts/floors.ts"
import { growth } from "./parts/growth.ts"
import { lone } from "./parts/lone.ts"
import { memory } from "./parts/memory.ts"
import type { Part, Setting } from "./parts/Part.ts"
import { peers } from "./parts/peers.ts"
import { processes } from "./parts/processes.ts"
import { sealed, sealedNode } from "./parts/sealed.ts"
import { stores } from "./parts/stores.ts"
import { table } from "./report/table.ts"

const parts: ReadonlyArray<Part> = [sealed, sealedNode, peers, floors, stores, lone, growth, processes, memory]
const say = (line: string) => process.stderr.write(`${line}\n`)
const args = process.argv.slice(2)
const only = args.flatMap((word, at) => (word === "--only" ? (args[at + 1] ?? "").split(",") : []))
const wanted = only.length === 0 ? parts : parts.filter((part) => only.includes(part.name))

const program = Effect.gen(function* () {
  const scope = yield* Scope.Scope
  const once = <A>(effect: Effect.Effect<A, Error, Scope.Scope>) =>
    Effect.cached(Effect.provideService(effect, Scope.Scope, scope))
  const node = yield* findNode22
  const setting: Setting = {
    options: args.includes("--quick") ? quick : thorough,
    say,
    node,
    postgres: yield* once(postgresServer(say)),
    redis: yield* once(redisServer(say)),
    million: yield* once(millionInSqlite(node, say)),
    soak: args.includes("--soak") ? 600 : 30
  }
  const results: Array<Result> = []
  for (const part of wanted) {
    const start = performance.now()
    results.push(...(yield* Effect.scoped(part.run(setting))))
    say(`${part.name} took ${((performance.now() - start) / 1000).toFixed(0)} s`)
  }
  process.stdout.write(table(results))
}).pipe(Effect.scoped)

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
