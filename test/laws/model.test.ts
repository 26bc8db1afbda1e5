import { expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { rows } from "../../core/testing/model/rows.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import { patience, scriptSeed, scripts, usualScripts } from "./runs.ts"

const stage: Stage = (world, script) =>
  inProcess(world).pipe(
    Effect.map(({ system }) => playOver(system, world, script)),
    Effect.provide(Memory.layer, { local: true })
  )

test(
  "the core answers every random script as the model of the protocol does",
  async () => {
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs: scripts }))

    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
    if (result._tag === "Agreed" && scripts >= usualScripts) {
      expect([...rows].filter((row) => !result.rules.has(row))).toEqual([])
    }
  },
  patience
)

/** Scripts on which system and model once parted ways, each by the seed that generates it. */
const partings = {
  "a client that got its tokens, and could not be noted as proven, may be swept as if it never had": 4_252_362_543,
  "and the tokens that it got with it": 125_739_311,
  "a successor that reached nobody counts as handed out when the retry brings it": 1_914_795_554,
  "a client that is deleted with its own grant while it asks after its token proves nothing": 1_227_726_066,
  "a client that a person let in may have no record yet, where that was struck": 2_865_548_108,
  "a late no ends nothing that a client has its tokens for": 1_204_537_814,
  "an approval of a pushed request that was struck before its grant is finished by the next one": 3_439_009_864,
  "what could not be noted of a client at its code is noted when it refreshes": 90_535_295,
  "of a device that was swept, who polls with another's code is told that it is over": 1_144_198_393,
  "a client without a record of its own that was deleted has no browser sent on": 1_995_197_718,
  "what was exchanged is ended by who may exchange no more, and stays so where that is allowed again": 2_255_095_179
}

test.each(Object.entries(partings))("%s", async (_what, seed) => {
  const result = await Effect.runPromise(checkModel(stage, { seed, runs: 1 }))
  expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
})

test(
  "nothing that implied scopes or several resources bring about parts the core and the model",
  async () => {
    const runs = Math.ceil(scripts / 4)
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: { apis: true } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)

/** Both kinds of addressing: by the path of one host, side by side and one below the other, and by host and path. */
const addressings: ReadonlyArray<readonly [issuer: string, issuer: string]> = [
  ["https://id.example/one", "https://id.example/two"],
  ["https://id.example", "https://id.example/two"],
  ["https://id.example/t/one", "https://id.example/t/one/two"],
  ["https://one.example/a", "https://two.example:8443/a"]
]

test.each(addressings)(
  "no workspace reads another's record, at %s and %s",
  async (one, other) => {
    const issuers = [one, other] as const
    const runs = Math.ceil(scripts / 2 / addressings.length)
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: { issuers } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)
