import { describe, expect, test } from "bun:test"
import { Cause, Effect, Exit } from "effect"
import { seedOfRun } from "../../core/testing/Dice.ts"
import { rows } from "../../core/testing/model/rows.ts"
import { type Agreed, checkModel, type Falsified } from "../../core/testing/play/checkModel.ts"
import { referenceServer } from "../../core/testing/play/ReferenceServer.ts"
import { report } from "../../core/testing/play/report.ts"

const playAgainst = (seed: number, runs: number, ...without: ReadonlyArray<string>): Promise<Agreed | Falsified> => {
  const forgotten = new Set(without)
  return Effect.runPromise(checkModel((world) => Effect.succeed(referenceServer(world, forgotten)), { seed, runs }))
}

const against = (runs: number, ...without: ReadonlyArray<string>) => playAgainst(1, runs, ...without)

/** The seeds of the same scripts on which the model, whole, used a row: on no other can its loss be seen. */
const seedsByRow = async (runs: number): Promise<ReadonlyMap<string, ReadonlyArray<number>>> => {
  const byRow = new Map<string, Array<number>>()
  for (let run = 0; run < runs; run++) {
    const seed = seedOfRun(1, run)
    const result = await playAgainst(seed, 1)
    const used = result._tag === "Agreed" ? result.rules.keys() : []
    for (const row of used) byRow.set(row, [...(byRow.get(row) ?? []), seed])
  }
  return byRow
}

/** Rows that may be forgotten without a difference, and why. */
const unnoticed: ReadonlyMap<string, string> = new Map([
  ["a client for codes needs a redirect URI (RFC 7591 §2)", "the row below refuses it with a code that fits as well"],
  ["a response type is needed (RFC 6749 §4.1.1)", "the row below refuses it with a code that fits as well"],
  ["the code of a dead grant is refused", "it was used before, so the row below refuses it with the same words"],
  ["an unknown scope beside a known one is dropped or refused (RFC 6749 §6)", "dropping it is one of the two ways"],
  ["a page that was decided upon may be decided otherwise, or be spent", "deciding otherwise is one of the two ways"],
  ["a replay that is not even well formed may be told that first", "being told so is one of the two ways"],
  ["a reuse that asks for what nobody has may be told that first", "killing the grant is one of the two ways"],
  ["deleting twice at the same moment may be told done twice", "being refused is one of the two ways"],
  [
    "a hint that is past its end may name somebody as long as its key is there (OpenID Connect Core §3.1.2.1)",
    "naming somebody is one of the two ways"
  ],
  [
    "a hint that is past its end, and a client that no person let in, may be known or not (RP-Initiated Logout §4)",
    "being known is one of the two ways"
  ],
  [
    "a no to a client that may not be sent back to that address any more may be told on a page (RFC 9700 §4.11.2)",
    "sending it back is one of the two ways"
  ],
  ["a token for one resource may be turned away at another (RFC 8707 §3)", "letting it in is one of the two ways"]
])

describe("the model, played against itself", () => {
  test.each([Number.NaN, 0, -1, 0.5, Number.POSITIVE_INFINITY])(
    "agrees to nothing where it is to play %p scripts",
    async (runs) => {
      const stage = () => Effect.die("it was played")
      const exit = await Effect.runPromiseExit(checkModel(stage, { seed: 1, runs }))
      expect(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "agreed").toContain("runs")
    }
  )

  test("agrees with itself, and every row of its tables is reached", async () => {
    const result = await against(700)

    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
    const reached = result._tag === "Agreed" ? result.rules : new Map<string, number>()
    expect([...rows].filter((row) => !reached.has(row))).toEqual([])
  }, 60_000)

  test("finds a short script for every row that the other side forgets", async () => {
    const lengths = new Map<string, number>()
    const noticeable = [...rows].filter((row) => !unnoticed.has(row))
    const seeds = await seedsByRow(700)
    for (const row of noticeable) {
      for (const seed of seeds.get(row) ?? []) {
        const result = await playAgainst(seed, 1, row)
        if (result._tag === "Agreed") continue
        lengths.set(row, result.script.length)
        break
      }
    }

    expect(noticeable.filter((row) => !lengths.has(row))).toEqual([])
    expect([...lengths].filter(([, length]) => length > 14)).toEqual([])
  }, 120_000)

  test("tells the seed, the script in words, and the first answer that differs", async () => {
    const result = await against(700, "another client's attempt on a refresh token changes nothing")

    if (result._tag !== "Falsified") throw new Error("the fault was not found")
    const lines = report(result)
    expect(lines).toContain(`TESSERA_SEED=${result.seed} TESSERA_RUNS=1`)
    expect(lines).toMatch(/refreshes with the refresh token of #\d+/)
    expect(lines).toContain("another client's attempt on a refresh token changes nothing")
    const again = await Effect.runPromise(
      checkModel(
        (world) =>
          Effect.succeed(
            referenceServer(world, new Set(["another client's attempt on a refresh token changes nothing"]))
          ),
        { seed: result.seed, runs: 1 }
      )
    )
    expect(again._tag === "Falsified" ? again.script : []).toEqual(result.script)
  })
})
