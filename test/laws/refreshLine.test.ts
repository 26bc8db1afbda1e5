import { expect } from "bun:test"
import { Effect } from "effect"
import { jsonOf, textField } from "../../core/testing/play/reading.ts"
import type { Ref } from "../../core/testing/script/Command.ts"
import { scene } from "./cast.ts"
import { law } from "./law.ts"

/** One generation: every command that was answered its refresh token, and that token's text. */
interface Generation {
  readonly refs: Array<Ref>
  readonly text: string
  readonly since: number
}

law(
  "a grant has one live refresh line: an honest retry gets the same bytes, introspection says so, and nothing else gets in",
  (dice, seed) =>
    scene(seed, { refreshGrace: dice.pick([0, 1, 1000, 60_000]) }, (cast) =>
      Effect.gen(function* () {
        const grace = cast.world.refreshGrace
        const kind = dice.pick(["public", "post"] as const)
        const by = yield* cast.client(kind)
        const code = yield* cast.code(by)
        const first = yield* cast.redeem(code, by)
        let now = 0
        const line: Array<Generation> = [
          { refs: [first.ref], text: textField(jsonOf(first.response), "refresh_token") ?? "", since: now }
        ]
        const tokenOf = (generation: Generation | undefined): Ref =>
          dice.pick([...(generation?.refs ?? []), 0].slice(0, -1) as [Ref])

        for (let step = 4 + dice.under(10); step > 0; step--) {
          const what = dice.weighted([
            [4, "refresh"],
            [4, "retry"],
            [3, "wait"],
            [1, "rotate"]
          ])
          const current = line.at(-1)
          if (what === "wait") {
            const pause = dice.pick([1, Math.max(grace - 1, 0), grace, 10])
            now += pause
            yield* cast.system.pass(pause)
          } else if (what === "rotate") {
            yield* cast.system.addKey
          } else if (what === "refresh") {
            const { ref, response } = yield* cast.refresh(tokenOf(current), by)
            const text = textField(jsonOf(response), "refresh_token") ?? ""
            expect([response.status, line.map((one) => one.text).includes(text)]).toEqual([200, false])
            line.push({ refs: [ref], text, since: now })
          } else if (line.length > 1 && now < (current?.since ?? 0) + grace) {
            const { ref, response } = yield* cast.refresh(tokenOf(line.at(-2)), by)
            expect([response.status, textField(jsonOf(response), "refresh_token")]).toEqual([200, current?.text ?? ""])
            current?.refs.push(ref)
          }
          // A client that proves nothing is told nothing.
          if (what === "rotate" || kind === "public") continue
          const active: Array<number> = []
          for (const [at, { refs }] of [...line.entries()].slice(-4)) {
            if (yield* cast.isActive({ kind: "refresh", ref: refs[0] ?? 0 }, by)) active.push(at)
          }
          const since = line.at(-1)?.since ?? 0
          const isInGrace = line.length > 1 && now < since + grace
          expect(active).toEqual(isInGrace ? [line.length - 2, line.length - 1] : [line.length - 1])
        }

        yield* cast.system.pass(grace)
        const superseded = line.slice(0, -1)
        const order = dice.chance(50) ? superseded : superseded.toReversed()
        for (const generation of order) {
          const { response } = yield* cast.refresh(tokenOf(generation), by)
          expect([response.status, jsonOf(response)?.error]).toEqual([400, "invalid_grant"])
        }
        // A client that came with one of them had no right to it, so the line ends for all.
        const last = yield* cast.refresh(tokenOf(line.at(-1)), by)
        expect(last.response.status).toBe(superseded.length > 0 ? 400 : 200)
      })
    )
)
