import { expect, test } from "bun:test"
import { Effect, Exit, Option, Result } from "effect"
import { pathOf, placeOf } from "../../../adapters/redis/RecordPlace.ts"
import { fetchRecord, fetchRecords, type Wanted } from "../../../adapters/redis/reads.ts"
import { firstValue } from "../../../adapters/redis/StoredValue.ts"
import type { Wire } from "../../../adapters/redis/Wire.ts"
import { StorageUnavailable } from "../../../core/ports/Storage.ts"
import { recordOf } from "../redisGiven.ts"

const wanted = (id: string): Wanted => ({ key: recordOf(id), record: placeOf("p", pathOf(recordOf(id))).record })

const asking = (ask: Wire["ask"], ids: ReadonlyArray<string>) =>
  Effect.result(fetchRecords({ ask }, ids.map(wanted), 0))

test.each([[["a"]], [["a", "b"]]])("of a read of %j that got no answer nothing was done", (ids) => {
  const lost = new StorageUnavailable({ outcome: "unknown", message: "the connection ended before the answer" })
  const found = Effect.runSync(asking(() => Effect.fail(lost), ids))
  expect(Result.isFailure(found) && found.failure).toEqual(
    new StorageUnavailable({ outcome: "not_done", message: lost.message })
  )
})

test("a record in a form that is not ours is not one that is not there, and hides none of the others", () => {
  const texts = ["2 of a later form", null, firstValue(recordOf("c"), "entry")]
  const found = Effect.runSync(asking(() => Effect.succeed(texts), ["a", "b", "c"]))
  const [strange, missing, ours] = Result.getOrThrow(found)
  const refusal = new StorageUnavailable({
    outcome: "not_done",
    message: "Redis holds a record in a form that is not ours"
  })
  expect(strange).toEqual(Exit.fail(refusal))
  expect(missing).toEqual(Exit.succeed(Option.none()))
  expect(ours !== undefined && Exit.isSuccess(ours) && Option.getOrThrow(ours.value).record.version).toBe(1)

  const alone = fetchRecord({ ask: () => Effect.succeed(texts[0]) }, "p", recordOf("a"), 0)
  expect(Effect.runSync(Effect.flip(alone))).toEqual(refusal)
})
