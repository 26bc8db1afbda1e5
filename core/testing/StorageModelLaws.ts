import { Effect, Option } from "effect"
import { type Kind, type NewRecord, type RecordKey, Storage, type StoredRecord } from "../ports/Storage.ts"
import type { Draw } from "./Draw.ts"
import { expect, holds, recordAt, sameRecord } from "./StorageLaw.ts"

const nameOf = ({ workspace, kind, id }: RecordKey) => JSON.stringify([workspace, kind, id])

/** The contract in its plainest form: what a store with one caller must answer. */
const plainStore = () => {
  const records = new Map<string, StoredRecord>()
  const write = (record: StoredRecord) => records.set(nameOf(record), record)
  return {
    get: (key: RecordKey) => records.get(nameOf(key)),
    insert: (record: NewRecord) => !records.has(nameOf(record)) && write({ ...record, version: 1 }) !== undefined,
    replace: (expected: number, record: NewRecord) => {
      const stored = records.get(nameOf(record))
      if (stored?.version !== expected) return false
      write({ ...record, owner: stored.owner, version: expected + 1 })
      return true
    },
    remove: (key: RecordKey) => records.delete(nameOf(key)),
    list: (of: RecordKey & { readonly owner: string }) =>
      [...records.values()]
        .filter(({ workspace, kind, owner }) => workspace === of.workspace && kind === of.kind && owner === of.owner)
        .sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

const drawnRecord = (draw: Draw, workspaces: readonly [string, string]): NewRecord =>
  recordAt(
    {
      workspace: draw.oneOf(workspaces),
      kind: draw.oneOf<Kind>(["grant", "client"]),
      id: draw.oneOf(["a", "b", "B", "a:b", "c"])
    },
    { drawn: draw.text(5), list: [draw.below(1000)] },
    { owner: draw.oneOf(["p", "q"]), expiresAt: draw.oneOf([null, 4e12 + draw.below(1000)]) }
  )

export const modelLaws = [
  holds("a random sequence of verbs is answered as the plainest store would", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const model = plainStore()
      const workspaces = [draw.workspace(), draw.workspace()] as const
      const told: Array<string> = []
      const taken = (write: ReturnType<typeof store.insert>) =>
        Effect.as(write, true).pipe(Effect.catchTag("Conflict", () => Effect.succeed(false)))

      for (let step = 0; step < 300; step++) {
        const record = drawnRecord(draw, workspaces)
        const verb = draw.oneOf(["get", "insert", "insert", "replace", "replace", "remove", "list"])
        told.push(`${verb} ${nameOf(record)} ${record.owner}`)
        const history = () => `after ${told.slice(-12).join(", ")}`
        if (verb === "get") {
          const [found, wanted] = [Option.getOrUndefined(yield* store.get(record)), model.get(record)]
          const same =
            found === undefined || wanted === undefined ? found === wanted : sameRecord(found, wanted, wanted.version)
          yield* expect(same, () => `get gave ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}, ${history()}`)
        } else if (verb === "insert") {
          const won = yield* taken(store.insert(record))
          yield* expect(won === model.insert(record), () => `insert ${won ? "won" : "lost"} ${history()}`)
        } else if (verb === "replace") {
          const expected = Math.max(1, (model.get(record)?.version ?? 1) - (draw.below(4) === 0 ? 1 : 0))
          const won = yield* taken(store.replace(expected, record))
          yield* expect(won === model.replace(expected, record), () => `replace ${won ? "won" : "lost"} ${history()}`)
        } else if (verb === "remove") {
          yield* store.remove(record)
          model.remove(record)
        } else {
          const wanted = model.list(record)
          const { records } = yield* store.list({ ...record, after: undefined, limit: 100 })
          const same =
            records.length === wanted.length &&
            wanted.every((one, index) => {
              const found = records[index]
              return found !== undefined && sameRecord(found, one, one.version)
            })
          yield* expect(same, () => `list gave ${JSON.stringify(records)}, not ${JSON.stringify(wanted)}, ${history()}`)
        }
      }
    })
  )
]
