import { Context, Effect, Layer, Option } from "effect"
import { Conflict, type Json, Storage, StorageScan } from "../../core/ports/Storage.ts"
import { Shelves } from "./Shelves.ts"

type When = <A, E = never>(work: () => Effect.Effect<A, E>) => Effect.Effect<A, E>

/** `keep` makes a body safe to store; `when` runs a call at once, or when its effect runs. */
export const makeMemory = (keep: (body: Json) => Json, when: When) =>
  Layer.syncContext(() => {
    const shelves = new Shelves(keep)
    const swapped = (write: () => boolean): Effect.Effect<void, Conflict> =>
      when((): Effect.Effect<void, Conflict> => (write() ? Effect.void : Effect.fail(new Conflict())))

    return Context.make(
      Storage,
      Storage.of({
        get: (key) => when(() => Effect.succeed(Option.fromUndefinedOr(shelves.get(key)))),
        insert: (record) => swapped(() => shelves.insert(record)),
        replace: (expected, record) => swapped(() => shelves.replace(expected, record)),
        remove: (key) => Effect.sync(() => shelves.remove(key)),
        list: (listing) => Effect.sync(() => shelves.list(listing)),
        sweep: (before, limit) => Effect.sync(() => shelves.sweep(before, limit)),
        written: (kind) => shelves.written(kind)
      })
    ).pipe(
      Context.add(
        StorageScan,
        StorageScan.of({ scan: (kind, after, limit) => Effect.sync(() => shelves.scan(kind, after, limit)) })
      )
    )
  })

/**
 * For callers that never change a body and run each effect once, at once, as the core does. Nothing is frozen (a
 * frozen array costs JavaScriptCore 400 bytes and 2 µs), and a ready answer needs no fiber.
 */
export const layerAtOnce = makeMemory(
  (body) => body,
  (work) => work()
)
