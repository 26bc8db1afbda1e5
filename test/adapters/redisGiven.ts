import { Effect, Option, type Scope } from "effect"
import { Redis } from "ioredis"
import { layer, type RedisOptions } from "../../adapters/redis/Redis.ts"
import { type Json, type NewRecord, Storage } from "../../core/ports/Storage.ts"
import type { Server } from "../harness/Server.ts"
import { startRedis } from "../harness/startRedis.ts"

export const recordOf = (
  id: string,
  body: Json = { n: 0 },
  more: { readonly owner?: string; readonly expiresAt?: number | null } = {}
): NewRecord => ({
  workspace: "acme",
  kind: "grant",
  id,
  owner: more.owner ?? "owner",
  expiresAt: more.expiresAt ?? null,
  body
})

/** Runs with a store of its own, and closes its connections afterwards. */
export const over =
  (url: string, options: Omit<RedisOptions, "url"> = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(effect, layer({ url, ...options }), { local: true })

export const scoped = <A, E>(body: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.scoped(body))

/** A connection beside the store's, to look and to do harm. */
export const openAdmin = (url: string): Effect.Effect<Redis, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const redis = new Redis(url, { protocol: 2, enableReadyCheck: false, retryStrategy: () => 20 })
      redis.on("error", () => undefined)
      return redis
    }),
    (redis) => Effect.sync(() => redis.disconnect())
  )

interface GivenRedis {
  readonly server: Server
  readonly admin: Redis
  readonly store: Storage["Service"]
}

/** A server of its own, a store over it, and a connection beside that one. */
export const overRedis = <A, E>(
  body: (given: GivenRedis) => Effect.Effect<A, E, Storage | Scope.Scope>,
  options: Omit<RedisOptions, "url"> = {}
) =>
  scoped(
    Effect.gen(function* () {
      const server = yield* startRedis()
      const admin = yield* openAdmin(server.url)
      return yield* Effect.flatMap(Storage, (store) => body({ server, admin, store })).pipe(over(server.url, options))
    })
  )

export const call = (redis: Redis, ...command: readonly [string, ...ReadonlyArray<string | number>]) => {
  const [name, ...args] = command
  return Effect.promise(() => redis.call(name, ...args))
}

/** The server's own count of commands since its statistics were reset, those inside scripts too. */
export const commandCounts = (redis: Redis): Effect.Effect<Readonly<Record<string, number>>> =>
  Effect.map(
    Effect.promise(() => redis.info("commandstats")),
    (text) =>
      Object.fromEntries(
        [...text.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)]
          .map(([, name = "", calls]) => [name, Number(calls)] as const)
          .filter(([name]) => !["info", "config|resetstat", "config"].includes(name))
      )
  )

export interface Ledger {
  /** Replaces that were acknowledged. */
  acknowledged: number
  /** Replaces that may or may not have happened. */
  unknown: number
  attempts: number
}

/**
 * Replaces one record again and again, until told to stop, and checks after each failure that the store holds what the
 * failure's word allows: not done means not done, unknown means done once or not at all.
 */
export const keepReplacing = Effect.fnUntraced(function* (id: string, isOver: () => boolean) {
  const store = yield* Storage
  const ledger: Ledger = { acknowledged: 0, unknown: 0, attempts: 0 }
  let version = 1
  while (!isOver()) {
    ledger.attempts += 1
    const failure = yield* Effect.match(store.replace(version, recordOf(id, { n: version })), {
      onSuccess: () => undefined,
      onFailure: (error) => error
    })
    if (failure === undefined) {
      ledger.acknowledged += 1
      version += 1
      continue
    }
    if (failure._tag === "Conflict") throw new Error(`${id} was replaced by nobody else, and yet not at ${version}`)
    const found = yield* untilItAnswers(store.get(recordOf(id)))
    const now = Option.getOrThrow(found).version
    const allowed = failure.outcome === "unknown" ? [version, version + 1] : [version]
    if (!allowed.includes(now)) throw new Error(`${failure.outcome} at version ${version} left version ${now}`)
    if (failure.outcome === "unknown") ledger.unknown += 1
    version = now
  }
  return { ...ledger, version }
})

/** Asks again while the storage is away, for a minute: a sentinel that got no turn answers after thirty seconds. */
export const untilItAnswers = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.retry(effect, {
    times: 3000,
    while: (error) => Effect.as(Effect.sleep("20 millis"), error._tag === "StorageUnavailable")
  })
