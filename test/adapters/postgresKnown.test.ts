import { describe, expect, test } from "bun:test"
import { Effect, Option, type Scope } from "effect"
import type { Json, RecordKey, Storage } from "../../core/ports/Storage.ts"
import { postgresUrl } from "../harness/given.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"
import { key, meddler, openStore, record } from "./postgres/withStore.ts"

const within = (body: Effect.Effect<void, unknown, Scope.Scope>) => () => Effect.runPromise(Effect.scoped(body))

const ownDatabase = Effect.map(
  Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop),
  ({ url }) => url
)

const written = (by: string, says: string) => ({ _by: by, says })

/** The bodies of both, read at once, so that they travel as one statement. */
const readBoth = (store: Storage["Service"], keys: ReadonlyArray<RecordKey>) =>
  Effect.map(
    Effect.forEach(keys, (key) => store.get(key), { concurrency: "unbounded" }),
    (found) => found.map((one) => (Option.isSome(one) ? one.value.body : undefined))
  )

const prepared = (first: Json, second: Json) =>
  Effect.gen(function* () {
    const url = yield* ownDatabase
    const store = yield* openStore(url)
    yield* store.insert(record("a", first))
    yield* store.insert(record("b", second))
    const both = readBoth(store, [key("a"), key("b")])
    expect(yield* both).toEqual([first, second])
    return { store, both, server: yield* meddler(url) }
  })

const changeUnseen = `UPDATE tessera.grants SET body = body || '{"says":"unseen"}'`

describe("a grant that was read lately", () => {
  test(
    "is not sent again while its version and its write are the same",
    within(
      Effect.gen(function* () {
        const { both, server } = yield* prepared(written("one", "a"), { says: "b" })
        yield* server.say(changeUnseen)
        // Only a body that names its write can be left out.
        expect(yield* both).toEqual([written("one", "a"), { says: "unseen" }])
      })
    )
  )

  test(
    "is sent anew once another write has made it, by whomever",
    within(
      Effect.gen(function* () {
        const { both, server, store } = yield* prepared(written("one", "a"), written("two", "b"))
        yield* store.replace(1, record("a", written("three", "c")))
        yield* server.say(`UPDATE tessera.grants SET version = 2, body = '{"_by":"two","says":"d"}' WHERE id = 'b'`)
        expect(yield* both).toEqual([written("three", "c"), written("two", "d")])
      })
    )
  )

  test(
    "is sent anew where it was removed and made again, with the same version",
    within(
      Effect.gen(function* () {
        const { both, store } = yield* prepared(written("one", "a"), written("two", "b"))
        yield* store.remove(key("a"))
        expect(yield* both).toEqual([undefined, written("two", "b")])
        yield* store.insert(record("a", written("three", "c")))
        expect(yield* both).toEqual([written("three", "c"), written("two", "b")])
      })
    )
  )

  // Each pair is a write as the port names it, and another one that reads like it in what the database holds or is sent.
  test.each([
    ["\u00011", "\u0001"],
    ["\u00010", "\u0000"],
    ["\ud800", "\ufffd"]
  ])(
    "is sent anew where the write of the same version has another name, however alike the two are: %j, %j",
    (before, after) =>
      within(
        Effect.gen(function* () {
          const { both, store } = yield* prepared(written(before, "a"), written("two", "b"))
          yield* store.remove(key("a"))
          yield* store.insert(record("a", written(after, "c")))
          expect(yield* both).toEqual([written(after, "c"), written("two", "b")])
        })
      )()
  )

  test(
    "is another one in another workspace",
    within(
      Effect.gen(function* () {
        const { store } = yield* prepared(written("one", "a"), written("two", "b"))
        yield* store.insert(record("a", written("one", "c"), "x"))
        const mixed = readBoth(store, [key("a"), key("a", "x")])
        expect(yield* mixed).toEqual([written("one", "a"), written("one", "c")])
        expect(yield* mixed).toEqual([written("one", "a"), written("one", "c")])
      })
    )
  )

  test(
    "says its owner and its expiry as they are stored now",
    within(
      Effect.gen(function* () {
        const { server, store } = yield* prepared(written("one", "a"), written("two", "b"))
        yield* server.say("UPDATE tessera.grants SET expires = 5")
        const found = yield* Effect.all([store.get(key("a")), store.get(key("b"))], { concurrency: "unbounded" })
        expect(found.map((one) => Option.map(one, ({ expiresAt, version }) => [expiresAt, version]))).toEqual([
          Option.some([5, 1]),
          Option.some([5, 1])
        ])
      })
    )
  )
})
