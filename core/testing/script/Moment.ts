import type { Dice } from "../Dice.ts"
import type { State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import type { Housekeeping, Proof, Ref, Step } from "./Command.ts"

/** What is drawn from: the moment, and the chance. */
export interface Moment {
  readonly dice: Dice
  readonly world: World
  readonly state: State
  readonly id: Ref
}

export type Some<A> = readonly [A, ...ReadonlyArray<A>]

export const isSome = <A>(list: ReadonlyArray<A>): list is Some<A> => list.length > 0

/** The usual, and now and then something else. */
export const mostly = <A>(dice: Dice, usual: A, others: Some<A>, percent = 6): A =>
  dice.chance(percent) ? dice.pick(others) : usual

/** One of a list, the younger the likelier. */
export const young = <A>(dice: Dice, list: Some<A>): A =>
  list[list.length - 1 - Math.min(dice.under(list.length), dice.under(list.length))] ?? list[0]

export const proofOf = (dice: Dice): Proof =>
  mostly(dice, dice.chance(50) ? "post" : "basic", ["wrong", "missing", "both"])

export const anyClient = ({ dice, state }: Moment): Ref => {
  const all = [...state.clients.keys()]
  return isSome(all) ? dice.pick(all) : 0
}

/** A ring of one key gets another, and one of several loses the oldest. */
export const turnKeys = ({ id, state }: Moment): Housekeeping => ({
  _tag: "Housekeeping",
  id,
  what: state.keys.length > 1 ? "drop the oldest key" : "add a key"
})

/** A step that may be drawn, the heavier the likelier. */
export type Offer = readonly [weight: number, draw: () => Step]

export const offersFor = <A>(
  list: ReadonlyArray<A>,
  weight: number,
  draw: (list: Some<A>) => Step
): ReadonlyArray<Offer> => (isSome(list) ? [[weight, () => draw(list)]] : [])
