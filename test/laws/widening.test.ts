import { expect } from "bun:test"
import { Effect } from "effect"
import type { Dice } from "../../core/testing/Dice.ts"
import { resourceText, sameResource } from "../../core/testing/model/resource.ts"
import { jsonOf, textField } from "../../core/testing/play/reading.ts"
import type { Ref, ResourceAsk } from "../../core/testing/script/Command.ts"
import { type Cast, scene } from "./cast.ts"
import { law } from "./law.ts"

const names = ["api", "profile", "admin", "API", "api,profile", "api\tprofile", "*", "offline_access"] as const
const asks: readonly [ResourceAsk, ...ReadonlyArray<ResourceAsk>] = [
  "none",
  "issuer",
  "slash",
  "below",
  "elsewhere",
  "other workspace"
]

const scopeText = (dice: Dice): string | null =>
  dice.chance(25) ? null : Array.from({ length: 1 + dice.under(4) }, () => dice.pick(names)).join(" ")

const words = (text: string | null): ReadonlyArray<string> => (text === null || text === "" ? [] : text.split(" "))

const within = (inner: string, outer: string | null): boolean =>
  outer === null || sameResource(inner) === sameResource(outer) || inner.startsWith(`${sameResource(outer)}/`)

/** What introspection says of an access token: the words of its scope, and its audience. */
const told = Effect.fnUntraced(function* (cast: Cast, ref: Ref, by: Ref) {
  const { response } = yield* cast.act({ _tag: "Introspect", token: { kind: "access", ref }, by, proof: "post" })
  const body = jsonOf(response)
  return { scope: words(textField(body, "scope")), audience: textField(body, "aud") }
})

law("granted scope and audience are always within what was approved; a refresh never widens", (dice, seed) =>
  scene(seed, {}, (cast) =>
    Effect.gen(function* () {
      const kind = dice.pick(["public", "post"] as const)
      const by = yield* cast.client(kind)
      const approved = ["api", "profile"].filter(() => dice.chance(60))
      const scope = approved.length === 0 ? null : approved.join(" ")
      const resource = dice.pick<ResourceAsk>(["none", "issuer", "slash", "below"])
      const most = scope === null ? ["api"] : approved
      const code = yield* cast.code(by, { scope, resource })
      const text = resourceText(resource, cast.world, 0)
      const bounds = text === null ? null : sameResource(text)

      let newest: Ref | undefined
      for (let step = 2 + dice.under(6); step > 0; step--) {
        const asked = scopeText(dice)
        const ask = dice.pick(asks)
        const { ref, response } =
          newest === undefined
            ? yield* cast.redeem(code, by, { resource: ask })
            : yield* cast.refresh(newest, by, { scope: asked, resource: ask })
        if (response.status !== 200) {
          expect(response.status).toBe(400)
          expect(["invalid_scope", "invalid_target"]).toContain(textField(jsonOf(response), "error") ?? "")
          continue
        }
        newest = ref
        const granted = words(textField(jsonOf(response), "scope"))
        expect(granted.filter((name) => !most.includes(name))).toEqual([])
        // A client that proves nothing is told nothing.
        if (kind === "post") {
          const token = yield* told(cast, ref, by)
          expect(token.scope.toSorted()).toEqual(granted.toSorted())
          if (bounds !== null) expect(token.audience !== null && within(token.audience, bounds)).toBe(true)
          expect(token.audience === null || within(token.audience, cast.world.issuers[0])).toBe(true)
        }
        const profile = yield* cast.act({ _tag: "Check", token: { kind: "access", ref }, at: "userinfo", workspace: 0 })
        if (!granted.includes("profile")) expect(profile.response.status).not.toBe(200)
        if (!granted.includes("api")) expect(yield* cast.isAdmitted(ref)).toBe(false)
      }
      if (newest === undefined) return
      // However it was narrowed on the way, the line is as wide as it was.
      const whole = yield* cast.refresh(newest, by)
      expect(words(textField(jsonOf(whole.response), "scope")).toSorted()).toEqual([...most].sort())
    })
  )
)
