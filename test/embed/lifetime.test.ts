import { describe, expect, spyOn, test } from "bun:test"
import { setImmediate } from "node:timers/promises"
import { inspect } from "node:util"
import { Deferred, Effect, Layer, Option } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { lateStorage } from "../../runtimes/embed/lateStorage.ts"
import { type CreateOptions, createTessera, type EmbeddedTessera, StorageUnavailable } from "../../runtimes/tessera.ts"
import {
  bearer,
  issuer,
  letIn,
  machine,
  options,
  people,
  redirectUri,
  registersItself,
  testClock,
  withHost
} from "./host.ts"

type Store = Storage["Service"]

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "it did not fail",
    (error) => error
  )

const at = (path: string, init?: RequestInit) => new Request(`${issuer}${path}`, init)

/** A layer that says how often it was opened and closed, and fails as often as it is told to. */
const watchedStorage = (failures = 0) => {
  const seen = { opened: 0, closed: 0 }
  const layer = Layer.effect(
    Storage,
    Effect.gen(function* () {
      seen.opened++
      yield* Effect.addFinalizer(() => Effect.sync(() => seen.closed++))
      if (seen.opened <= failures) {
        return yield* new StorageUnavailable({ outcome: "not_done", message: "the door is locked" })
      }
      return yield* Storage
    })
  ).pipe(Layer.provide(memory.layer))
  return { layer, seen }
}

describe("the storage of an embedded server", () => {
  test("is opened by the first request that needs it, once for all, and closed with it", async () => {
    const { layer, seen } = watchedStorage()
    await withHost({ storage: layer }, async (auth) => {
      await auth.handle(at("/openapi.json"))
      expect(seen.opened).toBe(0)
      await Promise.all([auth.clients.list(), auth.clients.list(), auth.apiKeys.list()])
      expect(seen).toEqual({ opened: 1, closed: 0 })
    })
    expect(seen).toEqual({ opened: 1, closed: 1 })
  })

  test("may be an object of a class, whose methods need it", async () => {
    class Shelf implements Store {
      readonly #put: Array<string> = []
      get = () => Effect.succeedNone
      insert = () => Effect.void
      replace = () => Effect.void
      remove = () => Effect.void
      list = () => Effect.succeed({ records: [], next: undefined })
      sweep = () => Effect.succeed(0)
      insertAndReplace(added: ReadonlyArray<NewRecord>) {
        this.#put.push(...added.map(({ id }) => id))
        return Effect.void
      }
      get put() {
        return [...this.#put]
      }
    }
    const shelf = new Shelf()
    const grant = { workspace: "main", kind: "grant", id: "g", owner: "-", body: {}, expiresAt: null } as const
    await Effect.gen(function* () {
      const { open, storage } = yield* lateStorage(Layer.succeed(Storage, shelf))
      yield* open
      yield* storage.insertAndReplace?.([grant], 1, grant) ?? Effect.void
    }).pipe(Effect.scoped, Effect.runPromise)
    expect(shelf.put).toEqual(["g"])
  })

  test("is opened by `ready`, of one workspace or of several, which rejects with what the store says", async () => {
    const several = watchedStorage(1)
    const { issuer: _, ...shared } = options({ storage: several.layer })
    const many = createTessera({ ...shared, workspaces: [] })
    expect(await many.ready().catch((error) => error)).toMatchObject({ message: "the door is locked" })
    await many.ready()
    await many.close()
    expect(several.seen).toEqual({ opened: 2, closed: 2 })
    const { layer, seen } = watchedStorage(1)
    await withHost({ storage: layer }, async (auth) => {
      expect(await auth.ready().catch((error) => error)).toMatchObject({ message: "the door is locked" })
      // What the failed try had taken is given back, and the next one may succeed.
      expect(seen).toEqual({ opened: 1, closed: 1 })
      await auth.ready()
      expect(seen).toEqual({ opened: 2, closed: 1 })
    })
  })

  test("that cannot be opened is 503 to a request, and tried again by the next", async () => {
    const { layer } = watchedStorage(1)
    await withHost({ storage: layer }, async (auth) => {
      const ask = () => auth.guard(bearer(`${issuer}/orders`, `tsr_ak_${"A".repeat(70)}`), { scopes: [] })
      const introspect = () =>
        auth.handle(
          at("/oauth/introspect", {
            method: "POST",
            headers: { "content-type": "application/x-www-form-urlencoded" },
            body: `client_id=${"A".repeat(22)}&client_secret=x&token=y`
          })
        )
      const away = await introspect()
      expect(away.status).toBe(503)
      expect(away.headers.get("retry-after")).toBe("2")
      expect((await introspect()).status).toBe(401)
      expect(await ask()).toMatchObject({ _tag: "Refused" })
    })
  })

  test("that cannot be opened is told to the host, in its log alone", async () => {
    const said = spyOn(console, "log").mockImplementation(() => undefined)
    try {
      const { layer } = watchedStorage(1)
      await withHost({ storage: layer, log: "problems" }, async (auth) => {
        const answer = await auth.handle(at("/oauth/register", { method: "POST", body: "{}" }))
        expect([answer.status, (await answer.text()).includes("the door is locked")]).toEqual([503, false])
      })
      expect(inspect(said.mock.calls, { depth: 9 })).toContain("the door is locked")
    } finally {
      said.mockRestore()
    }
  })

  test("is opened once for all who need it while it is being opened", async () => {
    const mayOpen = Deferred.makeUnsafe<void>()
    let opened = 0
    const opening = Effect.andThen(Deferred.await(mayOpen), Storage).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          opened++
        })
      )
    )
    const storage = Layer.effect(Storage, opening).pipe(Layer.provide(memory.layer))
    await withHost({ storage }, async (auth) => {
      const all = [auth.clients.list(), auth.ready(), auth.apiKeys.list()]
      await Effect.runPromise(Deferred.succeed(mayOpen, undefined))
      await Promise.all(all)
      expect(opened).toBe(1)
    })
  })

  test("is opened no longer once the server is closed", async () => {
    const begun = Deferred.makeUnsafe<void>()
    let left = false
    const opening = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          left = true
        })
      )
    )
    const auth = createTessera(options({ storage: Layer.effect(Storage, opening) }))
    const ready = auth.ready().then(
      () => "ready",
      () => "refused"
    )
    await Effect.runPromise(Deferred.await(begun))
    await auth.close()
    expect(left).toBe(true)
    expect(await ready).toBe("refused")
  })

  test("that is opened in the midst of closing is given back before the server is closed", async () => {
    const begun = Deferred.makeUnsafe<void>()
    const mayOpen = Deferred.makeUnsafe<void>()
    const said: Array<string> = []
    const opening = Effect.andThen(
      // It cannot be interrupted, as whatever is being acquired.
      Effect.acquireRelease(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayOpen)), () =>
        Effect.sync(() => said.push("given back"))
      ),
      Storage
    )
    const storage = Layer.effect(Storage, opening).pipe(Layer.provide(memory.layer))
    const auth = createTessera(options({ storage }))
    const ready = auth.ready().catch(() => "refused")
    await Effect.runPromise(Deferred.await(begun))
    const closing = auth.close().then(() => said.push("closed"))
    // Turns enough to close, for a server that would not wait.
    for (let turn = 0; turn < 100; turn++) await setImmediate()
    await Effect.runPromise(Deferred.succeed(mayOpen, undefined))
    await closing
    expect(said).toEqual(["given back", "closed"])
    expect(await ready).toBe("refused")
  })

  test("may be the verbs themselves", async () => {
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ storage }, async (auth) => {
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const kept = await Effect.runPromise(storage.get({ workspace: "main", kind: "client", id: client.id }))
      expect(Option.isSome(kept)).toBe(true)
    })
  })

  test("once closed, everything is refused and nothing is thrown in passing", async () => {
    let kept: Parameters<Parameters<typeof withHost>[1]>[0] | undefined
    await withHost({}, async (auth) => {
      kept = auth
      await auth.ready()
    })
    if (kept === undefined) throw new Error("there was none")
    expect((await kept.handle(at("/oauth/token", { method: "POST" }))).status).toBe(503)
    const checked = await kept.guard(bearer(`${issuer}/orders`, "abc"), { scopes: [] })
    expect(checked._tag === "Refused" ? checked.response.status : 200).toBe(503)
    expect(await kept.clients.list().catch((error) => error)).toMatchObject({ _tag: "StorageUnavailable" })
    await kept.close()
  })
})

describe("the chores of an embedded server", () => {
  test("begin when the storage is open, and remove what has expired", async () => {
    const { clock, wait } = await testClock()
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    const held = () =>
      Effect.runPromise(storage.list({ workspace: "main", kind: "grant", owner: "keys", after: undefined, limit: 9 }))
    await withHost({ clock, storage, housekeeping: false }, async (auth) => {
      const made = await auth.apiKeys.create({ name: "Soon gone", expiresIn: "1 minute" })
      expect(made.expiresAt).toEqual(new Date(made.createdAt.getTime() + 60_000))
    })
    // A day longer than it was good for: records stay for as long.
    await wait(24 * 60 * 60_000)
    await withHost({ clock, storage }, async (auth) => {
      await wait(5 * 60_000)
      expect((await held()).records.length).toBe(1)
      await auth.apiKeys.list()
      await wait(5 * 60_000)
      expect((await held()).records.length).toBe(0)
    })
  })

  test("are left alone where they are turned off, and done by hand", async () => {
    const { clock, wait } = await testClock()
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ clock, storage, housekeeping: false }, async (auth) => {
      await auth.apiKeys.create({ name: "Soon gone", expiresIn: "1 minute" })
      const held = () =>
        Effect.runPromise(storage.list({ workspace: "main", kind: "grant", owner: "keys", after: undefined, limit: 9 }))
      await wait(24 * 60 * 60_000 + 5 * 60_000)
      expect((await held()).records.length).toBe(1)
      await auth.housekeep()
      expect((await held()).records.length).toBe(0)
    })
  })

  test("remove all that has expired, however much there is", async () => {
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    const swept = [5, 1000, 1000]
    const sweep: Storage["Service"]["sweep"] = () => Effect.succeed(swept.pop() ?? 0)
    await withHost({ storage: { ...storage, sweep }, housekeeping: false }, async (auth) => {
      await auth.housekeep()
    })
    expect(swept).toEqual([])
  })

  test("done by hand rotate the keys that sign", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock, housekeeping: false }, async (auth) => {
      const { client, token } = await machine(auth)
      await auth.clients.setAccessTokenFormat(client.id, "jwt")
      await token()
      const published = async () => {
        // The shape is RFC 7517's; where it is not, what reads it fails.
        const { keys } = (await (await auth.handle(at("/oauth/jwks"))).json()) as {
          readonly keys: ReadonlyArray<object>
        }
        return keys.length
      }
      const before = await published()
      await auth.housekeep()
      expect(await published()).toBe(before)
      await wait(91 * 24 * 60 * 60_000)
      await auth.housekeep()
      await wait(10_000)
      expect(await published()).toBeGreaterThan(before)
    })
  })

  test("done by hand make room where more registered themselves than are kept", async () => {
    const { clock, wait } = await testClock()
    const over = { clock, housekeeping: false, storage: await Effect.runPromise(Effect.provide(Storage, memory.layer)) }
    // By a server that keeps more.
    await withHost(over, async (auth) => {
      for (let made = 0; made < 5; made++) await registersItself(auth)
    })
    await wait(60 * 60_000)
    await withHost({ ...over, maxUnprovenClients: 2 }, async (auth) => {
      expect((await auth.clients.list()).items).toHaveLength(5)
      await auth.housekeep()
      expect((await auth.clients.list()).items.length).toBeLessThanOrEqual(2)
    })
  })

  test("done by hand tell applications of sessions that ended, and give up after a day", async () => {
    const { clock, wait } = await testClock()
    const told: Array<string> = []
    const audit: CreateOptions["audit"] = ({ event }) =>
      void (event._tag === "LogoutCallGivenUp" && told.push(event.client))
    const owner = { ...people, signedIn: () => ({ user: "ada", session: "s" }) }
    await withHost({ owner, clock, audit, housekeeping: false }, async (auth) => {
      const { client } = await letIn(auth, "ada", "openid", {}, { backchannel_logout_uri: "https://127.0.0.1/logout" })
      await auth.grants.endSession("ada", "s")
      await wait(25 * 60 * 60_000)
      await auth.housekeep()
      expect(told).toEqual([client.id])
    })
  })

  test("done by hand note what was used, and how much of the rate limits", async () => {
    const used = async (rateLimits?: boolean) => {
      const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
      const kinds = new Set<string>()
      let noted: ReadonlyArray<string> = []
      const insert: Storage["Service"]["insert"] = (record) => {
        kinds.add(record.kind)
        return storage.insert(record)
      }
      const limits = rateLimits === undefined ? {} : { rateLimits }
      await withHost({ storage: { ...storage, insert }, housekeeping: false, ...limits }, async (auth) => {
        const { token } = await machine(auth)
        // The first time it also counts the clients.
        await auth.housekeep()
        // No other process has to hear of a limit that is hardly touched.
        for (let count = 0; count < 400; count++) await token()
        kinds.clear()
        await auth.housekeep()
        noted = [...kinds].sort()
      })
      return noted
    }
    expect(await used()).toEqual(["limit", "usage"])
    expect(await used(false)).toEqual(["usage"])
  })

  test("closing notes what was used", async () => {
    const storage = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await withHost({ storage }, async (auth) => {
      const { key } = await auth.apiKeys.create({ name: "Used" })
      await auth.guard(bearer(`${issuer}/orders`, key), { scopes: [] })
    })
    await withHost({ storage }, async (auth) => {
      expect((await auth.apiKeys.list()).items[0]?.lastUsedAt).toBeInstanceOf(Date)
    })
  })
})

describe("closing an embedded server", () => {
  type Verbs = Storage["Service"]

  /** A store in memory of which the test has some verbs of its own, and whether it was given back. */
  const storeWith = async (own: (kept: Verbs) => Partial<Verbs>) => {
    const kept = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    const seen = { givenBack: false }
    const store = Storage.of({ ...kept, ...own(kept) })
    const giveBack = Effect.sync(() => {
      seen.givenBack = true
    })
    return {
      seen,
      layer: Layer.effect(
        Storage,
        Effect.acquireRelease(Effect.succeed(store), () => giveBack)
      )
    }
  }

  const useKey = async (auth: EmbeddedTessera) => {
    const { key } = await auth.apiKeys.create({ name: "Used" })
    await auth.guard(bearer(`${issuer}/orders`, key), { scopes: [] })
  }

  test("is done once, however many ask for it, and all of them wait for the end", async () => {
    const begun = Deferred.makeUnsafe<void>()
    const mayEnd = Deferred.makeUnsafe<void>()
    let notes = 0
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) => {
        if (record.kind !== "usage") return insert(record)
        notes++
        const first = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayEnd))
        return Effect.andThen(notes === 1 ? first : Effect.never, insert(record))
      }
    }))
    const auth = createTessera(options({ storage: layer }))
    await useKey(auth)
    const both = [auth.close(), auth.close()]
    await Effect.runPromise(Deferred.await(begun))
    both.push(auth.close())
    expect(await failureOf(auth.apiKeys.list())).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
    await Effect.runPromise(Deferred.succeed(mayEnd, undefined))
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(both.map(() => "fulfilled"))
    expect({ notes, ...seen }).toEqual({ notes: 1, givenBack: true })
  })

  test.each<[string, Partial<Record<keyof Verbs, true>>, (auth: EmbeddedTessera) => Promise<unknown>]>([
    ["apiKeys.create", { insert: true }, ({ apiKeys }) => apiKeys.create({ name: "Cut off" })],
    ["clients.list", { list: true }, ({ clients }) => clients.list()],
    ["housekeep", { sweep: true }, ({ housekeep }) => housekeep()]
  ])("leaves what is under way with a tagged error: %s", async (_name, silent, call) => {
    const asked = Deferred.makeUnsafe<void>()
    const silence = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
    const { layer } = await storeWith(({ insert, list, sweep }) => ({
      insert: silent.insert ? () => silence : insert,
      list: silent.list ? () => silence : list,
      sweep: silent.sweep ? () => silence : sweep
    }))
    const auth = createTessera(options({ storage: layer, housekeeping: false }))
    const failure = failureOf(call(auth))
    await Effect.runPromise(Deferred.await(asked))
    await auth.close()
    expect(await failure).toMatchObject({ _tag: "StorageUnavailable", outcome: "unknown" })
  })

  test("gives back a store that never answers to what was to be noted last", async () => {
    const asked = Deferred.makeUnsafe<void>()
    const { clock, wait } = await testClock()
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) =>
        record.kind === "usage" ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) : insert(record)
    }))
    const auth = createTessera(options({ clock, storage: layer, housekeeping: false }))
    await useKey(auth)
    const closed = auth.close()
    await Effect.runPromise(Deferred.await(asked))
    await wait(5000)
    await closed
    expect(seen.givenBack).toBe(true)
  })

  test("gives back a store that dies of what was to be noted last", async () => {
    const { layer, seen } = await storeWith(({ insert }) => ({
      insert: (record) => (record.kind === "usage" ? Effect.die(new Error("a fault of the store's")) : insert(record))
    }))
    const auth = createTessera(options({ storage: layer }))
    await useKey(auth)
    await auth.close()
    expect(seen.givenBack).toBe(true)
  })
})
