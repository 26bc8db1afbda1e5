import type { Client } from "../model/State.ts"
import type { AnswerClient, Ref, Step } from "./Command.ts"
import { type Moment, mostly, type Offer, offersFor, proofOf, type Some, turnKeys, young } from "./Moment.ts"

const either: Some<AnswerClient["says"]> = ["approved", "refused"]

const answer = ({ dice, id }: Moment, { ref, workspace }: Client, says: AnswerClient["says"]): AnswerClient => ({
  _tag: "AnswerClient",
  id,
  client: ref,
  workspace: mostly(dice, workspace, [workspace === 0 ? 1 : 0], 10),
  says
})

const askAlone = ({ dice, id }: Moment, by: Ref): Step => ({
  _tag: "ClientCredentials",
  id,
  by,
  proof: proofOf(dice),
  scope: dice.chance(70) ? null : "api",
  resource: "none"
})

/** Applications ask to act for the workspace, an owner says yes or no, and what came of it is looked at. */
export const offersOfAnswers = (moment: Moment, clients: ReadonlyArray<Client>): ReadonlyArray<Offer> => {
  const { dice, id, state } = moment
  const asking = clients.filter(({ isDeleted, mayActAlone }) => mayActAlone && !isDeleted)
  const answered = asking.filter(({ answer }) => answer !== null)
  const approved = asking.filter(({ answer }) => answer === "approved")
  const held = asking.filter(({ heldUnder }) => heldUnder !== null)
  // What was handed out before an owner said otherwise, or before the client was gone.
  const access = [...state.access].filter(
    ([, { expiresAt, grant }]) => state.now < expiresAt && state.grants.get(grant)?.user === null
  )
  return [
    ...offersFor(
      asking.filter(({ answer }) => answer === null),
      20,
      (some) => answer(moment, young(dice, some), dice.chance(75) ? "approved" : "refused")
    ),
    ...offersFor(answered, 10, (some) => answer(moment, young(dice, some), dice.pick(either))),
    ...offersFor(clients, 4, (some) => answer(moment, dice.pick(some), dice.pick(either))),
    ...offersFor(clients, 6, (some) => answer(moment, dice.pick(some), "nothing")),
    ...offersFor(asking, 8, (some) => askAlone(moment, young(dice, some).ref)),
    ...offersFor(approved, 12, (some) => askAlone(moment, young(dice, some).ref)),
    ...offersFor(access, 14, (some) => {
      const [ref, { grant }] = young(dice, some)
      const token = { kind: "access", ref } as const
      const client = state.grants.get(grant)?.client ?? 0
      if (dice.chance(10)) return { _tag: "Revoke", id, token, by: client, proof: proofOf(dice), hint: null }
      if (dice.chance(50)) return { _tag: "Introspect", id, token, by: client, proof: proofOf(dice) }
      return { _tag: "Check", id, token, at: "companies", workspace: state.clients.get(client)?.workspace ?? 0 }
    }),
    ...offersFor(answered, 3, (some) => {
      const { ref } = dice.pick(some)
      return { _tag: "DeleteClient", id, client: ref, with: ref }
    }),
    // What only its identifier knows goes with the key that sealed that, and what an owner answered does not.
    ...offersFor(held, 2, () => turnKeys(moment))
  ]
}
