import { Effect, Layer, type Scope } from "effect"
import { Documents } from "../../core/ports/Documents.ts"
import { type FetchOptions, fetchesNothingPrivate, hasSockets } from "./FetchOptions.ts"

/** `tessera/documents`: the way out to the network, for hosts that compose layers. */
export { type AllowList, type FetchOptions, readAllowList } from "./FetchOptions.ts"

const open = async () => (hasSockets() ? await import("./overHttps.ts") : await import("./overFetch.ts")).openDocuments

/**
 * Documents over the network. Nothing of it is loaded before the first is fetched. Certificates where none can be taken
 * are a defect.
 */
export const layer = (options: FetchOptions = fetchesNothingPrivate): Layer.Layer<Documents> =>
  Layer.effect(
    Documents,
    Effect.gen(function* () {
      if (options.ca !== undefined && !hasSockets()) {
        return yield* Effect.die(new TypeError("documents: ca counts on Bun, and on Node from 20.16, alone"))
      }
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
