import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { rows } from "../../core/testing/model/rows.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import { patience, runs, seed, usualRuns } from "./runs.ts"

const stage: Stage = (world, script) =>
  inProcess(world).pipe(
    Effect.map(({ system }) => playOver(system, world, script)),
    Effect.provide(Memory.layer, { local: true })
  )

test(
  "the core answers every random script as the model of the protocol does",
  async () => {
    const result = await Effect.runPromise(checkModel(stage, { seed, runs }))

    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
    if (result._tag === "Agreed" && runs >= usualRuns) {
      expect([...rows].filter((row) => !result.rules.has(row))).toEqual([])
    }
  },
  patience
)

/** Scripts in which a client gets its token while the write that notes its first flow is struck, and is swept later. */
const struckNotes = { "asks for another token": 4_252_362_543, "shows the one that it got": 125_739_311 }

describe("a client that got its tokens, and could not be noted as proven, may be swept as if it never had", () => {
  test.each(Object.entries(struckNotes))("and %s", async (_then, seed) => {
    const result = await Effect.runPromise(checkModel(stage, { seed, runs: 1 }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  })
})

/** A script in which an answer with a successor is lost, and the token is presented twice more, at the end of its grace. */
const lostSuccessor = 1_914_795_554

test("a successor that reached nobody counts as handed out when the retry brings it", async () => {
  const result = await Effect.runPromise(checkModel(stage, { seed: lostSuccessor, runs: 1 }))
  expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
})

/** A script in which a client asks after a token of its own grant, and is deleted, with that grant, in between. */
const deletedWhileAsking = 1_227_726_066

test("a client that is deleted with its own grant while it asks after its token is told that it proves nothing", async () => {
  const result = await Effect.runPromise(checkModel(stage, { seed: deletedWhileAsking, runs: 1 }))
  expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
})
