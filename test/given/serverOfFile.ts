import { afterAll, beforeAll } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import { type RunningServer, type ServerOptions, startServer } from "./server.ts"

/** One server for all tests of a file. */
export const serverOfFile = (options?: ServerOptions): (() => RunningServer) => {
  const scope = Scope.makeUnsafe()
  let server: RunningServer | undefined
  beforeAll(async () => {
    server = await Effect.runPromise(Scope.provide(startServer(options), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => {
    if (server === undefined) throw new Error("the server runs within tests only")
    return server
  }
}
