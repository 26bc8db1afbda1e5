import { expect, test } from "bun:test"
import { freshUntil } from "../../../adapters/documents/Answer.ts"
import { Instant } from "../../../core/rules/Instant.ts"

const day = 24 * 60 * 60
const limits = { longest: 1, within: 1, freshFor: { least: 60_000, most: day * 1000 } }
const now = Instant.make(1_000_000)

/** In seconds. */
const keptFor = (cacheControl?: string, age?: string) => {
  const headers: Readonly<Record<string, string | undefined>> = { "cache-control": cacheControl, age }
  return (freshUntil({ status: 200, header: (name) => headers[name] }, now, limits) - now) / 1000
}

test("a document is kept for as long as its Cache-Control says, between the limits", () => {
  const rows: ReadonlyArray<readonly [cacheControl: string | undefined, age: string | undefined, seconds: number]> = [
    [undefined, undefined, 60],
    ["", undefined, 60],
    ["max-age=600", undefined, 600],
    ["public, MAX-AGE=600, must-revalidate", undefined, 600],
    ['max-age="600"', undefined, 600],
    ["max-age=0", undefined, 60],
    ["max-age=59", undefined, 60],
    ["max-age=86400", undefined, day],
    ["max-age=31536000", undefined, day],
    [`max-age=${"9".repeat(400)}`, undefined, day],
    ["max-age=-5", undefined, 60],
    ["max-age=6e2", undefined, 60],
    ["max-age", undefined, 60],
    ["x-max-age=600", undefined, 60],
    ["s-maxage=600", undefined, 60],
    ["max-age=600, max-age=120", undefined, 120],
    ["no-store, max-age=600", undefined, 60],
    ["max-age=600, No-Cache", undefined, 60],
    ['no-cache="set-cookie", max-age=600', undefined, 60],
    ["max-age=600", "100", 500],
    ["max-age=600", " 100 ", 500],
    ["max-age=600", "700", 60],
    ["max-age=600", "-100", 600],
    ["max-age=600", "soon", 600],
    ["max-age=600", "9".repeat(400), 60],
    [`max-age=${"9".repeat(400)}`, "9".repeat(400), 60]
  ]
  for (const [cacheControl, age, seconds] of rows) {
    expect([cacheControl, age, keptFor(cacheControl, age)]).toEqual([cacheControl, age, seconds])
  }
})
