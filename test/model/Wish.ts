import { parseArgs } from "node:util"
import { Result } from "effect"
import type { Store } from "../../adapters/StoreKind.ts"
import { expectedUrl, readStoreUrl } from "../../adapters/stores.ts"

/** What `npm run model` was asked for. */
export interface Wish {
  readonly scripts: number
  readonly seed: number
  readonly store: Store
}

export const usage = `npm run model [-- OPTIONS]

  --scripts N   how many random scripts are played (1000)
  --seed N      repeats an earlier run; without it, a fresh seed is drawn and printed
  --store URL   the store to play over, as DATABASE_URL names it (memory:): ${expectedUrl()}
`

const options = {
  scripts: { type: "string", default: "1000" },
  seed: { type: "string" },
  store: { type: "string", default: "memory:" },
  help: { type: "boolean", default: false }
} as const

const countIn = (text: string, least: number): number | undefined => {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return count >= least ? count : undefined
}

/** The wish, or what to print in place of it. `fresh`: the seed where none is asked for. */
export const readWish = (args: ReadonlyArray<string>, fresh: () => number): Result.Result<Wish, string> => {
  const parsed = Result.try({
    try: () => parseArgs({ args: [...args], options }).values,
    catch: (thrown) => (thrown instanceof Error ? thrown.message : String(thrown))
  })
  return parsed.pipe(
    Result.flatMap(({ help, scripts, seed, store }) => {
      if (help) return Result.fail("")
      const count = countIn(scripts, 1)
      if (count === undefined) return Result.fail("--scripts is a whole number from 1 on")
      const start = seed === undefined ? fresh() : countIn(seed, 0)
      if (start === undefined) return Result.fail("--seed is a whole number")
      return readStoreUrl(store).pipe(
        Result.mapError((fault) => `--store: ${fault}`),
        Result.map((opened) => ({ scripts: count, seed: start, store: opened }))
      )
    }),
    Result.mapError((fault) => (fault === "" ? usage : `${fault}\n\n${usage}`))
  )
}
