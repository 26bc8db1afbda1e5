import { Context, Effect, Layer, Option } from "effect"
import { Conflict, type Json, Storage, StorageScan } from "../../core/ports/Storage.ts"
import { Shelves } from "./Shelves.ts"

/** Keeps the very object that was given, safe from whoever else holds it. */
const freeze = (body: Json): Json => {
  if (typeof body !== "object" || body === null || Object.isFrozen(body)) return body
  for (const inner of Object.values(body)) freeze(inner)
  return Object.freeze(body)
}

type When = <A, E = never>(work: () => Effect.Effect<A, E>) => Effect.Effect<A, E>

const make = (keep: (body: Json) => Json, when: When) =>
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
export const layer = make(freeze, Effect.suspend)

/**
 * The same for callers that never change a body and run each effect once, as soon as they have it, as the core does. It
 * freezes nothing: a frozen array costs JavaScriptCore some 400 bytes and 2 µs, which is half of what a stored grant
 * takes. And it reads and swaps when it is asked, not when the effect runs: what is there already needs no fiber.
 */
export const layerTrusting = make(
  (body) => body,
  (work) => work()
)
