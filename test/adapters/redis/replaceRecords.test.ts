import { expect, test } from "bun:test"
import { Cause, Effect, Exit, Option } from "effect"
import { replaceRecords } from "../../../adapters/redis/RedisStorage.ts"
import type { Wire } from "../../../adapters/redis/Wire.ts"
import { recordOf } from "../redisGiven.ts"

/** What two replaces come to where the server, or a proxy in front of it, answers this. */
const outcomesOf = (answer: unknown): ReadonlyArray<string> => {
  const run: Wire["run"] = () => Effect.succeed(answer)
  const replacements = ["a", "b"].map((id) => ({ expected: 1, record: recordOf(id), lifetime: "0" }))
  return Effect.runSync(
    Effect.map(replaceRecords({ run }, "p", replacements, 0), (exits) =>
      exits.map((exit) => {
        if (Exit.isSuccess(exit)) return "done"
        const error = Option.getOrThrow(Cause.findErrorOption(exit.cause))
        return error._tag === "Conflict" ? "conflict" : error.outcome
      })
    )
  )
}

test("each replace gets its own letter of the script's answer", () => {
  expect(outcomesOf("10")).toEqual(["done", "conflict"])
  expect(outcomesOf("E1")).toEqual(["not_done", "done"])
})

test.each([
  ["1", ["done", "unknown"]],
  ["?1", ["unknown", "done"]],
  ["", ["unknown", "unknown"]],
  [11, ["unknown", "unknown"]],
  [null, ["unknown", "unknown"]],
  [
    ["1", "1"],
    ["unknown", "unknown"]
  ]
])("an answer that is not the script's (%j) promises nothing of what was written", (answer, outcomes) => {
  expect(outcomesOf(answer)).toEqual(outcomes)
})
