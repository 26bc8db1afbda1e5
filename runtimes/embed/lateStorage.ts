import { Context, Deferred, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { Storage, StorageScan, StorageUnavailable } from "../../core/ports/Storage.ts"

/** A store that is opened when it is first needed, so that a server can be made, and mounted, without waiting. */
export interface LateStorage {
  readonly storage: Storage["Service"]
  /**
   * Opens it now; fails as the store's own layer does. What failed is tried again by the next request that needs it.
   */
  readonly open: Effect.Effect<Storage["Service"], unknown>
  /** Reads all of it, where it is one that can. */
  readonly scan: Effect.Effect<StorageScan["Service"] | undefined, StorageUnavailable>
  readonly isOpen: () => boolean
  /** Resolves once it was opened, by whomever. */
  readonly opened: Effect.Effect<void>
}

export const lateStorage = (given: Layer.Layer<Storage, unknown>): Effect.Effect<LateStorage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const opened = yield* Deferred.make<void>()
    let ready: Storage["Service"] | undefined
    let scan: StorageScan["Service"] | undefined
    let insertAndReplace: Storage["Service"]["insertAndReplace"]
    let opening: Fiber.Fiber<Storage["Service"], unknown> | undefined
    // Last in, first out: an opening that is under way ends before what was opened is closed.
    const tries = yield* Scope.fork(yield* Scope.Scope)
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => (opening === undefined ? Effect.void : Fiber.interrupt(opening)))
    )

    const build = Effect.gen(function* () {
      // A scope for each try: what a failed one had taken is given back at once.
      const scope = yield* Scope.fork(tries)
      const built = yield* Layer.buildWithScope(Layer.fresh(given), scope).pipe(
        Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void))
      )
      const storage = Context.get(built, Storage)
      ready = storage
      // A store of a host's own may be an object of a class, whose method it is.
      insertAndReplace = storage.insertAndReplace?.bind(storage)
      // Tessera's own stores have it beside, which the type of the option does not say.
      scan = Option.getOrUndefined(Context.getOption(built, StorageScan))
      yield* Deferred.succeed(opened, undefined)
      return storage
    })

    const open = Effect.suspend(() => {
      if (ready !== undefined) return Effect.succeed(ready)
      if (opening !== undefined) return Fiber.join(opening)
      // On its own: a browser that goes away takes nothing with it that others wait for.
      const fiber = Effect.runForkWith(context)(build)
      opening = fiber
      fiber.addObserver(() => {
        opening = undefined
      })
      return Fiber.join(fiber)
    })

    const needed = Effect.catchCause(open, (cause) =>
      Effect.andThen(
        Effect.logError("the storage could not be opened", cause),
        Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "the storage could not be opened" }))
      )
    )

    const later = <A, E>(use: (storage: Storage["Service"]) => Effect.Effect<A, E>) =>
      ready === undefined ? Effect.flatMap(needed, use) : use(ready)

    const storage: Storage["Service"] = {
      get: (key) => later((storage) => storage.get(key)),
      insert: (record) => later((storage) => storage.insert(record)),
      replace: (expected, record) => later((storage) => storage.replace(expected, record)),
      /** Nothing asks for it before it has read something. */
      get insertAndReplace() {
        return insertAndReplace
      },
      remove: (key) => later((storage) => storage.remove(key)),
      list: (listing) => later((storage) => storage.list(listing)),
      sweep: (before, limit) => later((storage) => storage.sweep(before, limit))
    }
    const scanned = Effect.map(later(Effect.succeed), () => scan)
    return { storage, open, scan: scanned, isOpen: () => ready !== undefined, opened: Deferred.await(opened) }
  })
