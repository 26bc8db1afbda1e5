import { expect } from "bun:test"
import { Effect } from "effect"
import { jsonOf } from "../../core/testing/play/reading.ts"
import { scene } from "./cast.ts"
import { law } from "./law.ts"

law("a code yields tokens at most once, however many try at once; the losers get invalid_grant", (dice, seed) =>
  scene(seed, {}, (cast) =>
    Effect.gen(function* () {
      const by = yield* cast.client(dice.pick(["public", "post", "basic"]))
      const code = yield* cast.code(by)
      const many = 2 + dice.under(6)
      const odds = dice.pick([20, 85])
      const right = Array.from({ length: many }, () => dice.chance(odds))
      yield* cast.system.shuffle(seed)
      const acts = yield* Effect.forEach(
        right,
        (isRight) => cast.redeem(code, by, { verifier: isRight ? "right" : "wrong" }),
        { concurrency: "unbounded" }
      )
      yield* cast.system.shuffle(null)

      const winners = acts.filter(({ response }) => response.status === 200)
      expect(winners.length).toBe(right.includes(true) ? 1 : 0)
      for (const { response } of acts) {
        if (response.status === 200) continue
        expect(response.status).toBe(400)
        expect(jsonOf(response)?.error).toBe("invalid_grant")
      }
      for (const { ref, response } of winners) {
        // A second exchange with the verifier too shows that both were stolen, so the winner's tokens are worth
        // nothing either. A code alone is worth nothing, and ends nothing.
        const wasReplayed = right.filter(Boolean).length > 1
        const alive = yield* cast.isAdmitted(ref)
        expect(alive).toBe(!wasReplayed)
        expect((yield* cast.refresh(ref, by)).response.status).toBe(alive ? 200 : 400)
        expect(response.status).toBe(200)
      }
    })
  )
)
