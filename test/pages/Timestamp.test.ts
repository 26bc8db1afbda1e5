import { describe, expect, test } from "bun:test"
import { render } from "../../core/pages/Html.ts"
import { ago, relative, timestamp, writtenOut } from "../../core/pages/Timestamp.ts"
import { Instant, later } from "../../core/rules/Instant.ts"

const now = Instant.make(Date.UTC(2026, 10, 20, 14, 3, 59))

describe("a moment", () => {
  test("is written out in UTC", () => {
    expect(writtenOut(now)).toBe("20 Nov 2026, 14:03 UTC")
    expect(writtenOut(Instant.make(0))).toBe("1 Jan 1970, 00:00 UTC")
    expect(writtenOut(Instant.make(Date.UTC(2028, 1, 29, 23, 59)))).toBe("29 Feb 2028, 23:59 UTC")
  })

  test("is there for machines", () => {
    expect(render(timestamp(now))).toBe(`<time datetime="2026-11-20T14:03:59.000Z">20 Nov 2026, 14:03 UTC</time>`)
    expect(render(ago(now, later(now, 120_000)))).toBe(
      `<time datetime="2026-11-20T14:03:59.000Z" title="20 Nov 2026, 14:03 UTC">2 minutes ago</time>`
    )
  })

  test("counts from now, rounded down", () => {
    const minute = 60_000
    const day = 24 * 60 * minute
    for (const [distance, words] of [
      [0, "just now"],
      [-59_999, "just now"],
      [2000, "just now"],
      [59_999, "in less than a minute"],
      [-minute, "1 minute ago"],
      [90 * minute, "in 1 hour"],
      [-2 * day + 1, "1 day ago"],
      [-2 * day, "2 days ago"],
      [90 * day, "in 90 days"],
      [90 * day - 1, "in 89 days"],
      [100 * day, "in 3 months"],
      [-365 * day, "1 year ago"],
      [-1000 * day, "2 years ago"]
    ] as const) {
      expect(relative(later(now, distance), now)).toBe(words)
    }
  })

  test("outside of the calendar it is said to be unknown, and nothing throws", () => {
    expect(writtenOut(Instant.make(9e15))).toBe("an unknown time")
    expect(render(ago(Instant.make(-9e15), now))).toContain("years ago")
  })
})
