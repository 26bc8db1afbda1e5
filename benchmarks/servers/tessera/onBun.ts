import { Effect, Scope } from "effect"
import type { Serve } from "../../../core/serve.ts"
import { listen as listenOnBun } from "../../../runtimes/bun/listen.ts"
import { noProxies } from "../../../runtimes/serve/peer.ts"

/** The listener of the server binary, as it is. */
export const listen = async (serve: Serve): Promise<number> => {
  const scope = Scope.makeUnsafe()
  const options = { host: "127.0.0.1", port: 0, serve, trustedProxies: noProxies }
  const listening = listenOnBun({ ...options, requestTimeout: 20_000, shutdownTimeout: 1000 })
  return (await Effect.runPromise(Effect.provideService(listening, Scope.Scope, scope))).port
}
