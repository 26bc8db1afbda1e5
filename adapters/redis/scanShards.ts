import { Effect, Option } from "effect"
import { type Kind, type StorageScan, StorageUnavailable, type StoredRecord } from "../../core/ports/Storage.ts"
import { fetchRecord, notDone } from "./fetchRecord.ts"
import { keyAt, kindAt, shardCount, shardKey } from "./Place.ts"
import type { Wire } from "./Wire.ts"

const batch = 200

/**
 * Shard by shard, each in the order of its paths. The index of a shard has no order of its own that stays, so its
 * paths are read once and kept until the scan goes on to the next.
 */
export const makeScan = (wire: Wire, prefix: string): StorageScan["Service"] => {
  let kept: { readonly kind: Kind; readonly shard: number; readonly paths: ReadonlyArray<string> } | undefined

  const pathsOf = Effect.fnUntraced(function* (kind: Kind, shard: number, continued: boolean) {
    if (continued && kept?.kind === kind && kept.shard === shard) return kept.paths
    const paths = (yield* membersOf(wire, shardKey(prefix, shard))).filter((path) => kindAt(path) === kind).sort()
    kept = { kind, shard, paths }
    return paths
  })

  return {
    scan: Effect.fnUntraced(function* (kind, after, limit) {
      const start = yield* positionOf(after)
      const found: Array<{ readonly record: StoredRecord; readonly position: string }> = []

      // One more than asked for, to know whether a page follows.
      for (let shard = start.shard; shard < shardCount && found.length <= limit; shard++) {
        const continued = shard === start.shard && start.path !== ""
        const all = yield* pathsOf(kind, shard, continued)
        const paths = continued ? all.filter((path) => path > start.path) : all
        for (let at = 0; at < paths.length && found.length <= limit; ) {
          const next = paths.slice(at, at + Math.min(batch, limit + 1 - found.length))
          at += next.length
          const records = yield* Effect.forEach(next, (path) => recordAt(wire, prefix, path), {
            concurrency: "unbounded"
          })
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
