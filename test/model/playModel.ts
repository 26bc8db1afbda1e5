import { Context, Effect, Layer } from "effect"
import { Storage } from "../../core/ports/Storage.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { guestStorage } from "../../core/testing/play/GuestStorage.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import type { Wish } from "./Wish.ts"

/** Lines of progress at most. */
const mostLines = 20

/** 64 random bits, so that no two runs over one store meet. */
const drawName = (): string => `model-${crypto.getRandomValues(new BigUint64Array(1))[0]?.toString(36)}`

/**
 * Plays random scripts on the core over the store, each in workspaces of its own that are gone afterwards, and holds every
 * answer against the model. Answers whether the two agreed.
 */
export const playModel = Effect.fnUntraced(function* ({ scripts, seed, store }: Wish, say: (line: string) => void) {
  say(`Seed ${seed}: ${scripts} scripts over ${store.described}`)
  const below = Context.get(yield* Layer.build(store.open({})), Storage)
  const run = drawName()
  const step = Math.ceil(scripts / mostLines)
  let staged = 0

  const stage: Stage = (world, script) =>
    Effect.gen(function* () {
      staged += 1
      if (staged <= scripts && staged % step === 0) say(`${staged} of ${scripts}`)
      const guest = yield* Effect.acquireRelease(guestStorage(below, `${run}-${staged}`), ({ leave }) =>
        Effect.orDie(leave)
      )
      const { system } = yield* Effect.provideService(inProcess(world), Storage, guest.storage)
      return playOver(system, world, script)
    })

  const result = yield* checkModel(stage, { seed, runs: scripts })
  if (result._tag === "Agreed") {
    say(`The core and the model agreed on ${result.commands} commands of ${result.runs} scripts`)
    return true
  }
  say(report(result))
  say(`Or with: npm run model -- --scripts 1 --seed ${result.seed} --store URL`)
  return false
}, Effect.scoped)
