import { Effect } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { keyAt, lineOf, ownerKey, placeOf, shardCount, shardKey } from "./RecordPlace.ts"
import { notDone, strike } from "./reads.ts"
import { parseHead } from "./StoredValue.ts"
import { sweepScript } from "./scripts.ts"
import type { Wire } from "./Wire.ts"

/** A script blocks its server, so it removes no more than this. */
const largestBatch = 100

export const sweepShards = Effect.fnUntraced(function* (
  wire: Wire,
  prefix: string,
  before: number,
  limit: number
): Effect.fn.Return<number, StorageUnavailable> {
  // +inf in an index means never; a sweep must stay below it.
  const until = Math.min(before, Number.MAX_VALUE)
  const dueIn = (shard: string, most: number) =>
    Effect.mapBoth(wire.ask("zrangebyscore", [shard, "-inf", until, "LIMIT", 0, most], wire.deadline()), {
      onFailure: notDone,
      onSuccess: (paths) => (Array.isArray(paths) ? paths.map(String) : [])
    })

  const shards = Array.from({ length: shardCount }, (_, number) => shardKey(prefix, number))
  const due = yield* Effect.forEach(shards, (shard) => dueIn(shard, Math.min(limit, largestBatch)), {
    concurrency: 64
  })

  let removed = 0
  for (const [number, shard] of shards.entries()) {
    let paths = (due[number] ?? []).slice(0, limit - removed)
    while (paths.length > 0) {
      removed += yield* sweepBatch(wire, prefix, shard, until, paths)
      paths = removed < limit ? yield* dueIn(shard, Math.min(limit - removed, largestBatch)) : []
    }
    if (removed >= limit) break
  }
  return removed
})

const sweepBatch = Effect.fnUntraced(function* (
  wire: Wire,
  prefix: string,
  shard: string,
  before: number,
  paths: ReadonlyArray<string>
): Effect.fn.Return<number, StorageUnavailable> {
  const records = paths.map((path) => placeOf(prefix, path).record)
  const answer = yield* wire.run(sweepScript, [shard, ...records], [`${before}`, ...paths], wire.deadline())
  const removed = pairsOf(Array.isArray(answer) ? answer.map(String) : [])

  const struck = new Map<string, Array<string>>()
  for (const [path, line] of removed) {
    const key = keyAt(path)
    const { owner, entry } = yield* Effect.fromResult(parseHead(line))
    if (key === undefined) continue
    const list = ownerKey(prefix, { ...key, owner })
    struck.set(list, [...(struck.get(list) ?? []), lineOf(key.id, entry)])
  }
  yield* Effect.forEach(struck, ([list, lines]) => strike(wire, list, lines, wire.deadline()), {
    concurrency: "unbounded",
    discard: true
  })
  return removed.length
})

const pairsOf = (flat: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  flat.flatMap((value, at) => (at % 2 === 0 ? [[value, flat[at + 1] ?? ""] as const] : []))
