import { expect } from "bun:test"
import { Effect } from "effect"
import type { Dice } from "../../core/testing/Dice.ts"
import type { Ref } from "../../core/testing/script/Command.ts"
import { type Cast, scene } from "./cast.ts"
import { law } from "./law.ts"

interface Line {
  readonly client: Ref
  /** One that proves nothing is told nothing by introspection. */
  readonly mayAsk: boolean
  readonly code: Ref
  /** The commands whose answers carried tokens, in their order. */
  readonly answers: ReadonlyArray<Ref>
}

const line = Effect.fnUntraced(function* (cast: Cast, dice: Dice, [client, mayAsk]: readonly [Ref, boolean]) {
  const code = yield* cast.code(client, { user: dice.pick(["ann", "bob"]), scope: dice.pick(["api", "api profile"]) })
  const answers: Array<Ref> = [(yield* cast.redeem(code, client)).ref]
  for (let more = dice.under(3); more > 0; more--) {
    answers.push((yield* cast.refresh(answers.at(-1) ?? 0, client)).ref)
  }
  return { client, mayAsk, code, answers } satisfies Line
})

const isAlive = Effect.fnUntraced(function* (cast: Cast, { client, mayAsk, answers }: Line) {
  const newest = answers.at(-1) ?? 0
  const found: Array<boolean> = []
  for (const ref of answers) {
    found.push(yield* cast.isAdmitted(ref))
    if (mayAsk) found.push(yield* cast.isActive({ kind: "access", ref }, client))
  }
  if (mayAsk) found.push(yield* cast.isActive({ kind: "refresh", ref: newest }, client))
  return found
})

const day = 24 * 60 * 60 * 1000

/** Every way in which a grant may come to its end before its time. */
const endings: {
  readonly [name: string]: (cast: Cast, dice: Dice, line: Line) => Effect.Effect<unknown>
} = {
  "a refresh token was revoked": (cast, dice, { client, answers }) =>
    cast.act({
      _tag: "Revoke",
      token: { kind: "refresh", ref: answers[dice.under(answers.length)] ?? 0 },
      by: client,
      proof: "post",
      hint: dice.pick(["refresh_token", "access_token", null])
    }),
  "the code was used again": (cast, dice, { client, code }) =>
    cast.redeem(code, client, { redirect: dice.pick(["same", "other"]) }),
  "a superseded refresh token came back": (cast, _dice, { client, answers }) =>
    Effect.gen(function* () {
      const successor = yield* cast.refresh(answers.at(-1) ?? 0, client)
      yield* cast.system.pass(cast.world.refreshGrace)
      const reuse = yield* cast.refresh(answers.at(-1) ?? 0, client)
      expect([successor.response.status, reuse.response.status]).toEqual([200, 400])
    }),
  "the client was deleted": (cast, _dice, { client }) => cast.act({ _tag: "DeleteClient", client, with: client })
}

law(
  "after revocation, replay or deletion no token of that grant is accepted anywhere, and no other is touched",
  (dice, seed) =>
    scene(seed, {}, (cast) =>
      Effect.gen(function* () {
        const clients: readonly [readonly [Ref, boolean], readonly [Ref, boolean]] = [
          [yield* cast.client("post"), true],
          [yield* cast.client("public"), false]
        ]
        const lines: Array<Line> = []
        for (let more = 2 + dice.under(2); more > 0; more--) lines.push(yield* line(cast, dice, dice.pick(clients)))
        const ended = lines[dice.under(lines.length)]
        if (ended === undefined) return
        const [how = "", end] = dice.pick(Object.entries(endings) as [[string, (typeof endings)[string]]])
        expect(how.length).toBeGreaterThan(0)
        if (end === undefined) return
        yield* end(cast, dice, ended)
        if (dice.chance(50)) yield* cast.system.sweep
        if (dice.chance(20)) yield* cast.system.addKey

        for (const one of lines) {
          const isGone = one === ended || (how === "the client was deleted" && one.client === ended.client)
          expect([how, ...new Set(yield* isAlive(cast, one))]).toEqual([how, !isGone])
          if (isGone) {
            for (const ref of one.answers) expect((yield* cast.refresh(ref, one.client)).response.status).not.toBe(200)
            expect((yield* cast.redeem(one.code, one.client)).response.status).not.toBe(200)
            expect(new Set(yield* isAlive(cast, one))).toEqual(new Set([false]))
          }
        }
        yield* cast.system.pass(day)
      })
    )
)
