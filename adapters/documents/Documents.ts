import { Effect, Layer, type Scope } from "effect"
import { Documents } from "../../core/ports/Documents.ts"
import { type FetchOptions, fetchesNothingPrivate } from "./FetchOptions.ts"

/** `tessera/documents`: the way out to the network, for hosts that compose layers. */
export { type AllowList, type FetchOptions, readAllowList } from "./FetchOptions.ts"

/**
 * Whether an address can be checked before it is gone to: on Bun, and on Node from 20.16. Workers have these modules too,
 * and decide by themselves where a connection goes.
 */
const hasSockets = (): boolean =>
  typeof globalThis.process?.getBuiltinModule === "function" && globalThis.navigator?.userAgent !== "Cloudflare-Workers"

const open = async () => (hasSockets() ? await import("./overHttps.ts") : await import("./overFetch.ts")).openDocuments

/** Documents over the network. Nothing of it is loaded before the first is fetched. */
export const layer = (options: FetchOptions = fetchesNothingPrivate): Layer.Layer<Documents> =>
  Layer.effect(
    Documents,
    Effect.gen(function* () {
      const run = Effect.runPromiseWith(yield* Effect.context<Scope.Scope>())
      let ready: Documents["Service"] | undefined
      let opening: Promise<Documents["Service"]> | undefined
      // A promise, which no request that goes away ends for the others.
      const opened = async () => {
        const openDocuments = await open()
        ready = await run(openDocuments(options))
        return ready
      }
      const load = Effect.promise(() => {
        opening ??= opened()
        return opening
      })
      return {
        fetch: (address, limits, asOf) =>
          ready === undefined
            ? Effect.flatMap(load, (documents) => documents.fetch(address, limits, asOf))
            : ready.fetch(address, limits, asOf),
        post: (address, form, limits) => Effect.flatMap(load, (documents) => documents.post(address, form, limits))
      }
    })
  )
