import { Effect } from "effect"
import { Storage, StorageScan } from "../ports/Storage.ts"
import { type DrawnLaw, expect, freshKey, holds, recordAt, sameRecord } from "./StorageLaw.ts"

/** For stores that can be copied. */
export const scanLaws: ReadonlyArray<DrawnLaw<Storage | StorageScan>> = [
  holds("a scan gives every record of a kind once, whatever the size of its pages", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const { scan } = yield* StorageScan
      const [drawn, other] = [draw.workspace(), draw.workspace()]
      // What sorts behind is written first, so that pages cannot go by who came when.
      const [one, two] = drawn > other ? [drawn, other] : [other, drawn]
      const records = [one, two].flatMap((workspace) =>
        ["a", "b", "a:b", "😀", "%"].map((id) =>
          recordAt({ workspace, kind: "link", id }, { id }, { owner: `of ${id}`, expiresAt: 4e12 })
        )
      )
      for (const record of records) yield* store.insert(record)
      yield* store.insert(recordAt({ workspace: one, kind: "usage", id: "other kind" }))
      const gone = recordAt({ ...freshKey(draw, "link"), workspace: two })
      yield* store.insert(gone)
      yield* store.remove(gone)

      for (const limit of [1, 3, 1000]) {
        const found = new Map<string, number>()
        let after: string | undefined
        do {
          const page = yield* scan("link", after, limit)
          yield* expect(page.records.length <= limit, () => `a page of ${page.records.length} at limit ${limit}`)
          for (const record of page.records) {
            if (record.workspace !== one && record.workspace !== two) continue
            const wanted = records.findIndex((made) => sameRecord(record, made, 1))
            yield* expect(wanted >= 0, () => `scan gave ${JSON.stringify(record)}`)
            found.set(`${wanted}`, (found.get(`${wanted}`) ?? 0) + 1)
          }
          after = page.next
        } while (after !== undefined)
        const once = [...found.values()].every((times) => times === 1)
        yield* expect(found.size === records.length && once, () => `of ${records.length} records came ${found.size}`)
      }
    })
  )
]
