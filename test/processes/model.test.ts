import { describe, expect, test } from "bun:test"
import { Clock, Effect, Layer } from "effect"
import { Storage } from "../../core/ports/Storage.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { guestStorage } from "../../core/testing/play/GuestStorage.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import { seed } from "../adapters/seed.ts"
import { everyStore } from "./Store.ts"

/** Each script is some hundred round trips; the store in memory plays a thousand of them in `test/laws`. */
const runs = Number(process.env.TESSERA_RUNS ?? 60)

describe(`random scripts come out as the model of the protocol has it (TEST_SEED=${seed})`, () => {
  for (const [name, open] of everyStore) {
    test(
      name,
      () =>
        Effect.gen(function* () {
          const store = yield* open
          const { mapUnsafe } = yield* Layer.build(store.layer)
          const below = Storage.of(mapUnsafe.get(Storage.key))
          const clock = yield* Clock.Clock
          // The store is this test's alone, so that its own sweep may run, by its own clock.
          const sweep: typeof below.sweep = (before, limit) =>
            Effect.provideService(below.sweep(before, limit), Clock.Clock, clock)
          let scripts = 0
          const stage: Stage = (world, script) =>
            Effect.gen(function* () {
              scripts += 1
              const guest = yield* guestStorage(below, `script ${scripts}`)
              const storage = Storage.of({ ...guest.storage, sweep })
              const { system } = yield* Effect.provideService(inProcess(world), Storage, storage)
              return playOver(system, world, script)
            })

          const result = yield* checkModel(stage, { seed, runs })
          expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
          expect(result._tag === "Agreed" ? result.commands : 0).toBeGreaterThan(runs * 10)
        }).pipe(Effect.scoped, Effect.runPromise),
      60_000 + runs * 2000
    )
  }
})
