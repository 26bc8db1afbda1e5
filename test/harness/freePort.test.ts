import { expect, test } from "bun:test"
import { Effect } from "effect"
import { freePort } from "./freePort.ts"

test("no port is given twice in a run, though no server listens on it yet", async () => {
  const many = await Effect.runPromise(
    Effect.all(
      Array.from({ length: 500 }, () => freePort),
      { concurrency: 10 }
    )
  )
  expect(new Set(many).size).toBe(500)
})
