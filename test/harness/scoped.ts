import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { throwawayFolder } from "./throwawayFolder.ts"

/** What a test does with things that are given back when it is done: an effect, or the steps of one. */
type Steps<A> = Effect.Effect<A, unknown, Scope.Scope> | Effect.fn.Return<A, unknown, Scope.Scope>

export const scoped = <A>(body: Effect.Effect<A, unknown, Scope.Scope> | (() => Steps<A>)): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        return yield* typeof body === "function" ? body() : body
      })
    )
  )

/** The same, in a folder of the test's own. */
export const inFolder = <A>(body: (folder: string) => Steps<A>): Promise<A> =>
  scoped(function* () {
    return yield* body(yield* throwawayFolder("test"))
  })

/** The same with the path of a SQLite file that is not there yet, as a test's whole body. */
export const inFile = (body: (path: string) => Steps<void>) => () =>
  inFolder((folder) => body(join(folder, "tessera.db")))
