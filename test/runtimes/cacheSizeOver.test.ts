import { expect, test } from "bun:test"
import { Result } from "effect"
import { readStoreUrl } from "../../adapters/stores.ts"
import { memorySettingsFor } from "../../runtimes/bun/memorySettings.ts"
import { cacheSizeOver } from "../../runtimes/server/application.ts"

test("a server over a file of its own has small caches, and large ones over anything else", () => {
  const over = (url: string) => cacheSizeOver(Result.getOrThrow(readStoreUrl(url)))
  expect(over("sqlite:./data/tessera.db")).toBe("small")
  for (const url of ["memory:", "postgres://db/tessera", "redis://cache", "redis+cluster://a:1,b:2"]) {
    expect(over(url)).toBe("large")
  }
})

test("the size of caches and how much garbage may gather go by the same stores", () => {
  const urls = ["sqlite:./data/tessera.db", "sqlite:t", "memory:", "postgres://db/t", "postgresql://db/t"]
  for (const url of [...urls, "redis://cache", "rediss://cache", "redis+cluster://a:1", "redis+sentinel://a:1/main"]) {
    const keepsLittle = cacheSizeOver(Result.getOrThrow(readStoreUrl(url))) === "small"
    const limitsGarbage = "BUN_JSC_heapGrowthMaxIncrease" in memorySettingsFor({ DATABASE_URL: url })
    expect([url, limitsGarbage]).toEqual([url, keepsLittle])
  }
})

test("Bun is told to keep its memory where records are in it, and nowhere else", () => {
  const toldOver = (url: string) => memorySettingsFor({ DATABASE_URL: url }).MIMALLOC_PURGE_DELAY
  expect(toldOver("memory:")).toBe("-1")
  for (const url of ["", "sqlite:memory:", "postgres://db/t", "redis://cache"]) expect(toldOver(url)).toBeUndefined()
  const told = memorySettingsFor({ DATABASE_URL: "memory:", MIMALLOC_PURGE_DELAY: "50" })
  expect(Object.keys(told)).toEqual(["MIMALLOC_ALLOW_THP", "BUN_JSC_decommitUnusedMarkedBlockPages"])
})
