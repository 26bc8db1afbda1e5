import { expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, utimesSync } from "node:fs"
import { basename, join } from "node:path"
import { Effect } from "effect"
import { scoped } from "./scoped.ts"
import { sweepThrowaways, throwawayFolder } from "./throwawayFolder.ts"

test("a throwaway folder is empty, private, and gone with its scope", async () => {
  const folder = await Effect.runPromise(
    Effect.scoped(
      throwawayFolder("here").pipe(Effect.tap((path) => Effect.sync(() => expect(readdirSync(path)).toEqual([]))))
    )
  )
  expect(existsSync(folder)).toBe(false)
})

test("what a killed run has left goes when it is a day old, and nothing else does", () =>
  scoped(function* () {
    const parent = yield* throwawayFolder("sweep")
    const name = basename(parent)
    const now = 10 * 24 * 60 * 60 * 1000
    const ages = { [`${name}-old`]: 25, [`${name}-young`]: 23, "somebody-elses": 25 }
    for (const [child, hours] of Object.entries(ages)) {
      mkdirSync(join(parent, child))
      const changed = new Date(now - hours * 60 * 60 * 1000)
      utimesSync(join(parent, child), changed, changed)
    }

    sweepThrowaways(parent, now)
    expect(readdirSync(parent).sort()).toEqual(["somebody-elses", `${name}-young`].sort())
  }))
