import { Effect, Option } from "effect"
import { type Kind, type StorageScan, StorageUnavailable, type StoredRecord } from "../../core/ports/Storage.ts"
import { keyAt, kindAt, shardCount, shardKey } from "./RecordPlace.ts"
import { fetchRecord, notDone } from "./reads.ts"
import type { Wire } from "./Wire.ts"

const batch = 200
/** Paths in memory at once, unless one shard has more. */
const pathsKept = 20_000

/**
 * Scans shard by shard, by path. A shard's index has no stable order, so its paths are read once and kept until the
 * scan has passed them, for as many shards as fit `pathsKept`.
 */
export const makeScan = (wire: Wire, prefix: string): StorageScan["Service"] => {
  let kept: { readonly kind: Kind; readonly paths: ReadonlyMap<number, ReadonlyArray<string>> } | undefined

  const pathsFrom = Effect.fnUntraced(function* (kind: Kind, first: number) {
    const shards = yield* fewEnough(wire, prefix, first)
    const paths = yield* Effect.forEach(
      shards,
      (shard) =>
        Effect.map(membersOf(wire, shardKey(prefix, shard)), (members) => {
          const ours = members.filter((path) => kindAt(path) === kind).sort()
          return [shard, ours] as const
        }),
      unbounded
    )
    kept = { kind, paths: new Map(paths) }
    return kept.paths.get(first) ?? []
  })

  const pathsOf = (kind: Kind, shard: number) =>
    Effect.suspend(() => {
      const known = kept?.kind === kind ? kept.paths.get(shard) : undefined
      return known === undefined ? pathsFrom(kind, shard) : Effect.succeed(known)
    })

  return {
    scan: Effect.fnUntraced(function* (kind, after, limit) {
      const start = yield* positionOf(after)
      if (after === undefined) kept = undefined
      const found: Array<{ readonly record: StoredRecord; readonly position: string }> = []

      // One more than asked for, to know whether a page follows.
      for (let shard = start.shard; shard < shardCount && found.length <= limit; shard++) {
        const all = yield* pathsOf(kind, shard)
        const paths = shard === start.shard ? all.filter((path) => path > start.path) : all
        for (let at = 0; at < paths.length && found.length <= limit; ) {
          const next = paths.slice(at, at + Math.min(batch, limit + 1 - found.length))
          at += next.length
          const records = yield* Effect.forEach(next, (path) => recordAt(wire, prefix, path), unbounded)
          for (const [index, record] of records.entries()) {
            if (Option.isSome(record)) found.push({ record: record.value, position: `${shard} ${next[index]}` })
          }
        }
      }

      const page = found.slice(0, limit)
      return {
        records: page.map(({ record }) => record),
        next: found.length > limit ? page.at(-1)?.position : undefined
      }
    })
  }
}

const unbounded = { concurrency: "unbounded" } as const

/** The shards from `first` on whose paths fit `pathsKept` together. */
const fewEnough = Effect.fnUntraced(function* (wire: Wire, prefix: string, first: number) {
  const shards = Array.from({ length: shardCount - first }, (_, n) => first + n)
  const sizes = yield* Effect.forEach(
    shards,
    (shard) => Effect.mapError(wire.ask("zcard", [shardKey(prefix, shard)], wire.deadline()), notDone),
    unbounded
  )
  let sum = 0
  const end = sizes.findIndex((size, n) => {
    sum += Number(size)
    return n > 0 && sum > pathsKept
  })
  return end === -1 ? shards : shards.slice(0, end)
})

const recordAt = (wire: Wire, prefix: string, path: string) => {
  const key = keyAt(path)
  return key === undefined
    ? Effect.succeed(Option.none<StoredRecord>())
    : Effect.map(
        fetchRecord(wire, prefix, key, wire.deadline()),
        Option.map(({ record }) => record)
      )
}

const positionOf = (after: string | undefined) => {
  if (after === undefined) return Effect.succeed({ shard: 0, path: "" })
  const [matched, shard, path = ""] = /^(\d{1,3}) (\S+)$/.exec(after) ?? []
  return matched === undefined
    ? Effect.fail(
        new StorageUnavailable({ outcome: "not_done", message: "Redis: this is not where a scan has stopped" })
      )
    : Effect.succeed({ shard: Number(shard), path })
}

const membersOf = Effect.fnUntraced(function* (wire: Wire, shard: string) {
  const members = new Set<string>()
  let cursor = "0"
  do {
    const answer = yield* Effect.mapError(wire.ask("zscan", [shard, cursor, "COUNT", 1000], wire.deadline()), notDone)
    const [next, pairs] = Array.isArray(answer) ? answer : []
    if (Array.isArray(pairs)) pairs.forEach((member, at) => void (at % 2 === 0 && members.add(`${member}`)))
    cursor = `${next}`
  } while (cursor !== "0")
  return [...members]
})
