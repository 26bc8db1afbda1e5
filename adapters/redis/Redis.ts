import type { ConnectionOptions } from "node:tls"
import { Clock, Context, Duration, Effect, Layer, Option, Redacted, Schedule } from "effect"
import { Storage, StorageScan, type StorageUnavailable } from "../../core/ports/Storage.ts"
import { type EvictionRefused, inspectDurability, warningText } from "./Durability.ts"
import { encoded, makeEntries, placeOf } from "./RecordPlace.ts"
import { makeStorage } from "./RedisStorage.ts"
import { type BadRedisUrl, parseRedisUrl } from "./RedisUrl.ts"
import { makeScan } from "./scanShards.ts"
import { allScripts, replaceScript } from "./scripts.ts"
import { openWire, type Wire } from "./Wire.ts"

/**
 * Every server learns the scripts before the first request. One that refuses, comes later or forgets them is sent a
 * script's text with the first call that needs it.
 */
const loadScripts = (wire: Wire): Effect.Effect<void, StorageUnavailable> =>
  Effect.forEach(
    wire.masters().flatMap((master) => allScripts.map((script) => master.ask("script", ["LOAD", script.lua]))),
    (loading) => loading,
    { concurrency: "unbounded", discard: true }
  )

/** Until the server answers; each time that it does not, the reason is logged. The last one is the failure. */
const waitForRedis = Effect.fnUntraced(function* (
  wire: Wire,
  patience: Duration.Input
): Effect.fn.Return<void, StorageUnavailable> {
  const giveUpAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  const isWorthAnother = Effect.map(Clock.currentTimeMillis, (now) => now < giveUpAt)
  yield* Effect.suspend(() => wire.ask("ping", [], wire.deadline())).pipe(
    Effect.tapError(({ message }) =>
      Effect.when(Effect.logWarning(`The storage does not answer, trying again. ${message}`), isWorthAnother)
    ),
    Effect.retry({ schedule: Schedule.spaced("500 millis"), while: () => isWorthAnother })
  )
})

/**
 * Whether a command may name several records, whichever shards they are in. A cluster refuses what is not in one slot,
 * and so do proxies in front of one. The records that are asked for here are not there.
 */
const supportsMultiKey = (wire: Wire, prefix: string): Effect.Effect<boolean, StorageUnavailable> => {
  const places = ["a", "b"].map((path) => placeOf(prefix, path))
  const keys = places.flatMap(({ record, shard }) => [record, shard])
  const nothingExpected = places.flatMap(() => ["0", "-", "0", ""])
  const [master] = wire.masters()
  if (master === undefined) return Effect.succeed(false)
  return Effect.map(
    Effect.all([
      master.ask(
        "mget",
        places.map(({ record }) => record)
      ),
      master.ask("eval", [replaceScript.lua, keys.length, ...keys, ...nothingExpected])
    ]),
    (answers) => answers.every(Option.isSome)
  )
}

export interface RedisOptions {
  /** `redis://`, `redis+cluster://` or `redis+sentinel://`, or `rediss` for TLS. See `parseRedisUrl`. */
  readonly url: string | Redacted.Redacted<string>
  /** Certificates and the like, for the URLs that ask for TLS. */
  readonly tls?: ConnectionOptions
  /** What all keys begin with, where the URL does not say it: `tessera`. Odd characters in it are percent-encoded. */
  readonly prefix?: string
  /** No operation takes longer: 3 seconds. (A sweep or a scan is many.) */
  readonly deadline?: Duration.Input
  /** How long to wait at start for a server that is away: ten times the deadline. */
  readonly patience?: Duration.Input
  /** Calls that meet travel together: yes. */
  readonly pipelining?: boolean
  /** More commands may not be waiting for an answer, nor more calls to be sent: 10,000. */
  readonly maximumWaiting?: number
  /** Start even where the server may throw away records when it is full: no. */
  readonly allowEviction?: boolean
  /** How long past its expiry Redis itself forgets a record that no sweep has removed: 7 days. */
  readonly backstop?: Duration.Input
  /** The age at which a line in an owner's list without a record is given up: 1 hour. */
  readonly staleAfter?: Duration.Input
}

export type RedisFailure = BadRedisUrl | EvictionRefused | StorageUnavailable

/** Records in Redis: one node, Sentinel or Cluster. Waits for the server, and says what its settings would lose. */
export const layer = (options: RedisOptions): Layer.Layer<Storage | StorageScan, RedisFailure> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const url = typeof options.url === "string" ? options.url : Redacted.value(options.url)
      const target = yield* Effect.fromResult(parseRedisUrl(url))
      const pipelining = options.pipelining ?? true
      const deadline = Duration.fromInputUnsafe(options.deadline ?? "3 seconds")
      const limits = {
        deadlineMillis: Duration.toMillis(deadline),
        maximumWaiting: options.maximumWaiting ?? 10_000
      }
      const wire = yield* openWire(target, { tls: options.tls, pipelining, ...limits })
      yield* waitForRedis(wire, options.patience ?? Duration.times(deadline, 10))
      const warnings = yield* inspectDurability(wire, {
        allowEviction: options.allowEviction ?? target.settings.allowEviction ?? false
      })
      yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warningText(warning)), { discard: true })

      yield* loadScripts(wire)

      const prefix = encoded(options.prefix ?? target.settings.prefix ?? "tessera")
      const keeping = {
        prefix,
        backstopMillis: Duration.toMillis(options.backstop ?? "7 days"),
        staleAfterMillis: Duration.toMillis(options.staleAfter ?? "1 hour"),
        entryAt: makeEntries(crypto.randomUUID().replaceAll("-", "").slice(0, 16))
      }
      const several = pipelining && (yield* supportsMultiKey(wire, prefix))
      const storage = yield* makeStorage(wire, keeping, { several, ...limits })
      return Context.make(Storage, storage).pipe(Context.add(StorageScan, makeScan(wire, prefix)))
    })
  )
