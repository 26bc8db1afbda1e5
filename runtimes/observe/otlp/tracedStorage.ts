import { Effect } from "effect"
import type { Storage } from "../../../core/ports/Storage.ts"

/**
 * A span below the request's, around the asking too: SQLite has a lone write done by then. What nobody asked for, such as
 * the housekeeping, is not traced.
 */
const traced = <A, E>(
  verb: keyof Storage["Service"],
  kind: string,
  call: () => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) =>
    fiber.cache.span === undefined
      ? call()
      : Effect.withSpan(Effect.suspend(call), `storage ${verb} ${kind}`, {
          kind: "client",
          attributes: { "db.operation.name": verb, "db.collection.name": kind },
          captureStackTrace: false
        })
  )

/** The store below, with a span for each call that a traced request makes. */
export const tracedStorage = (below: Storage["Service"]): Storage["Service"] => ({
  get: (key) => traced("get", key.kind, () => below.get(key)),
  insert: (record) => traced("insert", record.kind, () => below.insert(record)),
  replace: (expected, record) => traced("replace", record.kind, () => below.replace(expected, record)),
  remove: (key) => traced("remove", key.kind, () => below.remove(key)),
  list: (listing) => traced("list", listing.kind, () => below.list(listing)),
  sweep: below.sweep
})
