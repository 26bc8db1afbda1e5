import type { Housekeeping, Wait } from "../script/Command.ts"
import type { Alternative, Facts } from "./Rule.ts"
import { type State, sealingKey } from "./State.ts"

const silently = (rule: string, next: State): ReadonlyArray<Alternative> => [
  { rule, expect: { _tag: "Silence" }, next }
]

export const wait = ({ state }: Facts, { millis }: Wait): ReadonlyArray<Alternative> =>
  silently("time passes", { ...state, now: state.now + millis })

/** The first key seals, all open: adding one logs nobody out, dropping one ends what it sealed. */
export const keepHouse = ({ state }: Facts, { what }: Housekeeping): ReadonlyArray<Alternative> => {
  switch (what) {
    case "add a key":
      return silently("a key is added in front", { ...state, keys: [sealingKey(state) + 1, ...state.keys] })
    case "drop the oldest key":
      return silently("the oldest key is dropped, never the last", {
        ...state,
        keys: state.keys.length > 1 ? state.keys.slice(0, -1) : state.keys
      })
    case "sweep":
      return silently("a sweep removes only what counts for nothing", state)
  }
}
