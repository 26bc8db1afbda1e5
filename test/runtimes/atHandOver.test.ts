import { expect, test } from "bun:test"
import { Result } from "effect"
import { littleAtHand, muchAtHand } from "../../core/server/AtHand.ts"
import { atHandOver } from "../../runtimes/server/atHandOver.ts"
import { parseDatabaseUrl } from "../../runtimes/server/DatabaseUrl.ts"

test("a server over a file of its own keeps little at hand, and much over anything else", () => {
  const over = (url: string) => atHandOver(Result.getOrThrow(parseDatabaseUrl(url)))
  expect(over("sqlite:./data/tessera.db")).toEqual(littleAtHand)
  for (const url of ["memory:", "postgres://db/tessera", "redis://cache", "redis+cluster://a:1,b:2"]) {
    expect(over(url)).toEqual(muchAtHand)
  }
  expect(muchAtHand.tokens / littleAtHand.tokens).toBeGreaterThan(1)
})
