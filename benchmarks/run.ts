import { Effect, Scope } from "effect"
import { findNode22 } from "../test/harness/machine/findNode.ts"
import type { Wish } from "./arguments.ts"
import { compileTessera } from "./measure/compileTessera.ts"
import { millionInSqlite } from "./measure/million.ts"
import { quick, thorough } from "./measure/Options.ts"
import type { Result } from "./measure/Result.ts"
import { postgresServer, redisServer } from "./measure/services.ts"
import type { Setting } from "./parts/Part.ts"
import { commitOf, describeMachine, type Report } from "./report/Report.ts"

const shortWatch = 60
const longWatch = 600

/** All parts that are wanted, one after the other. */
export const run = (wish: Wish, say: (line: string) => void): Effect.Effect<Report, Error> =>
  Effect.gen(function* () {
    const startedAt = new Date().toISOString()
    const scope = yield* Scope.Scope
    const once = <A>(effect: Effect.Effect<A, Error, Scope.Scope>) =>
      Effect.cached(Effect.provideService(effect, Scope.Scope, scope))
    const node = yield* findNode22
    const tessera = yield* compileTessera(say)
    const setting: Setting = {
      options: wish.quick ? quick : thorough,
      say,
      node,
      tessera,
      postgres: yield* once(postgresServer(say)),
      redis: yield* once(redisServer(say)),
      million: yield* once(millionInSqlite({ node, tessera }, say)),
      soak: wish.soak ? longWatch : shortWatch
    }
    const results: Array<Result> = []
    for (const part of wish.parts) {
      const start = performance.now()
      results.push(...(yield* Effect.scoped(part.run(setting))))
      say(`${part.name} took ${((performance.now() - start) / 1000).toFixed(0)} s`)
    }
    return {
      startedAt,
      commit: commitOf(import.meta.dir),
      quick: wish.quick,
      parts: wish.parts.map(({ name }) => name),
      machine: describeMachine(node),
      results
    }
  }).pipe(Effect.scoped)
