import type { ConnectionOptions } from "node:tls"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { Storage, StorageScan, type StorageUnavailable } from "../../core/ports/Storage.ts"
import { type EvictionRefused, inspectDurability, warningText } from "./Durability.ts"
import { loadScripts } from "./loadScripts.ts"
import { makeEntries } from "./OwnerEntry.ts"
import { encoded } from "./Place.ts"
import { makeStorage } from "./RedisStorage.ts"
import { type BadRedisUrl, parseRedisUrl } from "./RedisUrl.ts"
import { makeScan } from "./scanShards.ts"
import { takesSeveral } from "./takesSeveral.ts"
import { openWire } from "./Wire.ts"
import { waitForRedis } from "./waitForRedis.ts"

export interface RedisOptions {
  /** `redis://`, `redis+cluster://` or `redis+sentinel://`, or `rediss` for TLS. See `parseRedisUrl`. */
  readonly url: string | Redacted.Redacted<string>
  /** Certificates and the like, for the URLs that ask for TLS. */
  readonly tls?: ConnectionOptions
  /** What all keys begin with: `tessera`. Odd characters in it are percent-encoded. */
  readonly prefix?: string
  /** No operation takes longer: 3 seconds. (A sweep or a scan is many.) */
  readonly deadline?: Duration.Input
  /** How long to wait at start for a server that is away: 30 seconds. */
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
      const limits = {
        deadlineMillis: Duration.toMillis(options.deadline ?? "3 seconds"),
        maximumWaiting: options.maximumWaiting ?? 10_000
      }
      const wire = yield* openWire(target, { tls: options.tls, pipelining, ...limits })
      yield* waitForRedis(wire, options.patience ?? "30 seconds")
      const warnings = yield* inspectDurability(wire, { allowEviction: options.allowEviction ?? false })
      yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warningText(warning)), { discard: true })

      yield* loadScripts(wire)

      const prefix = encoded(options.prefix ?? "tessera")
      const keeping = {
        prefix,
        backstopMillis: Duration.toMillis(options.backstop ?? "7 days"),
        staleAfterMillis: Duration.toMillis(options.staleAfter ?? "1 hour"),
        entryAt: makeEntries(crypto.randomUUID().replaceAll("-", "").slice(0, 16))
      }
      const several = pipelining && (yield* takesSeveral(wire, prefix))
      const storage = yield* makeStorage(wire, keeping, { several, ...limits })
      return Context.make(Storage, storage).pipe(Context.add(StorageScan, makeScan(wire, prefix)))
    })
  )
