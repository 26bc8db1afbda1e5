import type { Housekeeping, Ref, Wait } from "../script/Command.ts"
import type { Alternative, Facts } from "./Rule.ts"
import { type Client, type State, sealingKey } from "./State.ts"

export const silently = (rule: string, next: State): ReadonlyArray<Alternative> => [
  { rule, expect: { _tag: "Silence" }, next }
]

export const wait = ({ state }: Facts, { millis }: Wait): ReadonlyArray<Alternative> =>
  silently("time passes", { ...state, now: state.now + millis })

/** Of a client that only the key knew, nothing is promised any more. */
const withoutOldestKey = (state: State): State => {
  if (state.keys.length < 2) return state
  const keys = state.keys.slice(0, -1)
  const clients = [...state.clients].map(([ref, client]): readonly [Ref, Client] =>
    client.heldUnder === null || keys.includes(client.heldUnder) || client.isDeleted
      ? [ref, client]
      : [ref, { ...client, keptUntil: Math.min(client.keptUntil, state.now) }]
  )
  return { ...state, keys, clients: new Map(clients) }
}

/** The first key seals, all open: adding one signs no person out, dropping one ends what it sealed. */
export const keepHouse = ({ state }: Facts, { what }: Housekeeping): ReadonlyArray<Alternative> => {
  switch (what) {
    case "add a key":
      return silently("a key is added in front", { ...state, keys: [sealingKey(state) + 1, ...state.keys] })
    case "drop the oldest key":
      return silently("the oldest key is dropped, never the last", withoutOldestKey(state))
    case "sweep":
      return silently("a sweep removes only what counts for nothing", state)
  }
}
