import { Effect, Layer, Option } from "effect"
import { Conflict, type NewRecord, type RecordKey, Storage, type StoredRecord } from "tessera/core"

const addressOf = ({ id, kind, workspace }: RecordKey) => JSON.stringify([workspace, kind, id])

/** The port's verbs over nothing but a `Map`: a store that the host has, and Tessera has never seen. */
export const mapStorage = Layer.sync(Storage, () => {
  const records = new Map<string, StoredRecord>()
  const versionOf = (record: NewRecord) => records.get(addressOf(record))?.version ?? 0
  const write = (record: NewRecord, expected: number) =>
    Effect.suspend(() => {
      if (versionOf(record) !== expected) return Effect.fail(new Conflict())
      records.set(addressOf(record), { ...record, version: expected + 1 })
      return Effect.void
    })
  return Storage.of({
    get: (key) => Effect.sync(() => Option.fromUndefinedOr(records.get(addressOf(key)))),
    insert: (record) => write(record, 0),
    replace: (expected, record) => (expected > 0 ? write(record, expected) : Effect.fail(new Conflict())),
    remove: (key) => Effect.sync(() => void records.delete(addressOf(key))),
    list: ({ after = "", kind, limit, owner, workspace }) =>
      Effect.sync(() => {
        const found = [...records.values()]
          .filter((one) => one.workspace === workspace && one.kind === kind && one.owner === owner && one.id > after)
          .sort((a, b) => (a.id < b.id ? -1 : 1))
        const page = found.slice(0, limit)
        return { records: page, next: found.length > limit ? page.at(-1)?.id : undefined }
      }),
    sweep: (before, limit) =>
      Effect.sync(() => {
        const dead = [...records].filter(([, { expiresAt }]) => expiresAt !== null && expiresAt <= before)
        for (const [address] of dead.slice(0, limit)) records.delete(address)
        return Math.min(dead.length, limit)
      })
  })
})
