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
    "is not sent again while its version and its expiry are the same",
    within(
      Effect.gen(function* () {
        const { both, server } = yield* prepared({ says: "a" }, { says: "b" })
        yield* server.say(changeUnseen)
        expect(yield* both).toEqual([{ says: "a" }, { says: "b" }])
        yield* server.say("UPDATE tessera.grants SET expires = 5 WHERE id = 'b'")
        expect(yield* both).toEqual([{ says: "a" }, { says: "unseen" }])
      })
    )
  )

  test(
    "is sent anew once another process has written it",
    within(
      Effect.gen(function* () {
        const { both, server, store } = yield* prepared({ says: "a" }, { says: "b" })
        yield* store.replace(1, record("a", { says: "c" }))
        yield* server.say(`UPDATE tessera.grants SET version = 2, body = '{"says":"d"}' WHERE id = 'b'`)
        expect(yield* both).toEqual([{ says: "c" }, { says: "d" }])
      })
    )
  )

  test(
    "is sent anew where it was removed and made again, with the same version",
    within(
      Effect.gen(function* () {
        const { both, store } = yield* prepared({ says: "a" }, { says: "b" })
        yield* store.remove(key("a"))
        expect(yield* both).toEqual([undefined, { says: "b" }])
        yield* store.insert(record("a", { says: "c" }))
        expect(yield* both).toEqual([{ says: "c" }, { says: "b" }])
      })
    )
  )

  test(
    "is another one in another workspace",
    within(
      Effect.gen(function* () {
        const { store } = yield* prepared({ says: "a" }, { says: "b" })
        yield* store.insert(record("a", { says: "c" }, "x"))
        const mixed = readBoth(store, [key("a"), key("a", "x")])
        expect(yield* mixed).toEqual([{ says: "a" }, { says: "c" }])
        expect(yield* mixed).toEqual([{ says: "a" }, { says: "c" }])
      })
    )
  )

  test(
    "says its owner and its expiry as they are stored now",
    within(
      Effect.gen(function* () {
        const { server, store } = yield* prepared({ says: "a" }, { says: "b" })
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
