import type { ConnectionOptions } from "node:tls"
import { Clock, Context, Duration, Effect, Layer, Option, Redacted, Schedule } from "effect"
import { Storage, StorageScan, type StorageUnavailable } from "../../core/ports/Storage.ts"
import { type EvictionRefused, inspectDurability, warningText } from "./Durability.ts"
import { encoded, makeEntries, placeOf } from "./RecordPlace.ts"
import { makeStorage } from "./RedisStorage.ts"
import { BadRedisUrl, noWaitInCluster, parseRedisUrl } from "./RedisUrl.ts"
import { makeScan } from "./scanShards.ts"
import { allScripts, replaceScript } from "./scripts.ts"
import { openWire, type Wire } from "./Wire.ts"
import { waitingForReplica } from "./waitingForReplica.ts"

/** Loads the scripts into every server at start. A server that lacks one later gets its text with the call. */
const loadScripts = (wire: Wire): Effect.Effect<void, StorageUnavailable> =>
  Effect.forEach(
    wire.masters().flatMap((master) => allScripts.map((script) => master.ask("script", ["LOAD", script.lua]))),
    (loading) => loading,
    { concurrency: "unbounded", discard: true }
  )

/** Retries until the server answers, and logs each reason. Fails with the last. */
const waitForRedis = Effect.fnUntraced(function* (
  wire: Wire,
  startWithin: Duration.Input
): Effect.fn.Return<void, StorageUnavailable> {
  const giveUpAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(startWithin)
  const isWorthAnother = Effect.map(Clock.currentTimeMillis, (now) => now < giveUpAt)
  yield* Effect.suspend(() => wire.ask("ping", [], wire.deadline())).pipe(
    Effect.tapError(({ message }) =>
      Effect.when(Effect.logWarning(`The storage does not answer, trying again. ${message}`), isWorthAnother)
    ),
    Effect.retry({ schedule: Schedule.spaced("500 millis"), while: () => isWorthAnother })
  )
})

/**
 * Whether one command may name records of several shards. A cluster refuses that, and so does a proxy in front of
 * one. The records of this probe do not exist.
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
  /** TLS options such as certificates, for `rediss` URLs. */
  readonly tls?: ConnectionOptions
  /** Prefix of all keys, if the URL has none. Default `tessera`. Other characters are percent-encoded. */
  readonly prefix?: string
  /** Deadline of an operation. Default 3 seconds. (A sweep or a scan is many.) */
  readonly deadline?: Duration.Input
  /** How long a start waits for the server; 0 is one try. Default: ten times the deadline. */
  readonly startWithin?: Duration.Input
  /** Sends calls that meet as one command. Default `true`. */
  readonly pipelining?: boolean
  /** Maximum commands without an answer, and calls that wait to be sent. Default 10,000. */
  readonly maximumWaiting?: number
  /** Start even if the server evicts records when it is full. Default `false`. */
  readonly allowEviction?: boolean
  /** Each write waits until a replica has it, or is `unknown`. Not for a cluster. Default `false`. */
  readonly waitForReplica?: boolean
  /** Redis' own expiry: this long after the record's, for a store that is not swept. Default 7 days. */
  readonly backstop?: Duration.Input
  /** When a line of an owner's list without a record is struck. Default 1 hour. */
  readonly staleAfter?: Duration.Input
}

export type RedisFailure = BadRedisUrl | EvictionRefused | StorageUnavailable

/** Records in Redis: one node, Sentinel or Cluster. Waits for the server, and logs what its settings would lose. */
export const layer = (options: RedisOptions): Layer.Layer<Storage | StorageScan, RedisFailure> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const url = typeof options.url === "string" ? options.url : Redacted.value(options.url)
      const target = yield* Effect.fromResult(parseRedisUrl(url))
      const waitForReplica = options.waitForReplica ?? target.settings.waitForReplica ?? false
      if (waitForReplica && target.kind === "cluster") return yield* new BadRedisUrl({ message: noWaitInCluster })
      const pipelining = options.pipelining ?? true
      const deadline = Duration.fromInputUnsafe(options.deadline ?? "3 seconds")
      const limits = {
        deadlineMillis: Duration.toMillis(deadline),
        maximumWaiting: options.maximumWaiting ?? 10_000
      }
      const wire = yield* openWire(target, { tls: options.tls, pipelining, ...limits })
      yield* waitForRedis(wire, options.startWithin ?? Duration.times(deadline, 10))
      const warnings = yield* inspectDurability(wire, target.kind, {
        allowEviction: options.allowEviction ?? target.settings.allowEviction ?? false,
        waitForReplica
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
      const storage = yield* makeStorage(waitForReplica ? waitingForReplica(wire, `${prefix}:wait`) : wire, keeping, {
        several,
        ...limits
      })
      return Context.make(Storage, storage).pipe(Context.add(StorageScan, makeScan(wire, prefix)))
    })
  )
