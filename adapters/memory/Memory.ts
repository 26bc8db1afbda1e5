import { Context, Effect, Layer, Option } from "effect"
import { Conflict, type Json, Storage, StorageScan } from "../../core/ports/Storage.ts"
import { freeze } from "./freeze.ts"
import { Shelves } from "./Shelves.ts"

const make = (keep: (body: Json) => Json) =>
  Layer.syncContext(() => {
    const shelves = new Shelves(keep)
    const swapped = (write: () => boolean): Effect.Effect<void, Conflict> =>
      Effect.suspend(() => (write() ? Effect.void : new Conflict()))

    return Context.make(
      Storage,
      Storage.of({
        get: (key) => Effect.sync(() => Option.fromUndefinedOr(shelves.get(key))),
        insert: (record) => swapped(() => shelves.insert(record)),
        replace: (expected, record) => swapped(() => shelves.replace(expected, record)),
        remove: (key) => Effect.sync(() => shelves.remove(key)),
        list: (listing) => Effect.sync(() => shelves.list(listing)),
        sweep: (before, limit) => Effect.sync(() => shelves.sweep(before, limit))
      })
    ).pipe(
      Context.add(
        StorageScan,
        StorageScan.of({ scan: (kind, after, limit) => Effect.sync(() => shelves.scan(kind, after, limit)) })
      )
    )
  })

/** A store in this process's memory, gone with it. It freezes each body that it is given, and gives back the same object. */
export const layer = make(freeze)

/**
 * The same for callers that never change a body, as the core never does: it freezes nothing. A frozen array costs
 * JavaScriptCore some 400 bytes and 2 µs, which is half of what a stored grant takes.
 */
export const layerTrusting = make((body) => body)
