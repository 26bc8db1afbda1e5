import type { AnswerClient } from "../script/Command.ts"
import type { Expectation } from "./Expectation.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule } from "./Rule.ts"
import { type Client, keptWhenRegistered, type State, withClient } from "./State.ts"
import type { World } from "./World.ts"

interface AnswerFacts extends Facts {
  readonly command: AnswerClient
  readonly client: Client | undefined
}

/** Whether a client that registered for it may act for the workspace itself now, or how that stands. */
export const standingOfClient = ({ answer }: Client, { workspaceAccess }: World) => {
  if (workspaceAccess === "registered") return "allowed"
  if (workspaceAccess === "owner") return "owners_only"
  return answer === null ? "waiting" : answer === "approved" ? "allowed" : "refused"
}

const told =
  (outcome: (Expectation & { readonly _tag: "Answered" })["outcome"]) =>
  ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Answered", outcome }, next: state }]

/** Who is approved is not forgotten, and who is refused then is on trial again. A registration has a record from then on. */
const answered = (state: State, client: Client, answer: "approved" | "refused"): State => {
  const onTrial = client.answer === "approved" ? state.now + keptWhenRegistered : client.keptUntil
  const keptUntil = answer === "approved" ? Number.POSITIVE_INFINITY : onTrial
  return withClient(state, { ...client, answer, keptUntil, heldUnder: null })
}

export const answerClientRules: ReadonlyArray<Rule<AnswerFacts>> = [
  {
    name: "an owner has no word about a client of another workspace (issue 24: an owner for workspace access)",
    when: ({ client, command }) => client?.workspace !== command.workspace,
    gives: told("unknown")
  },
  {
    name: "a client that is gone is answered no more (issue 24: an owner for workspace access)",
    when: ({ client }) => client === undefined || client.isDeleted,
    gives: told("unknown")
  },
  {
    name: "a client that did not register to act alone asks no owner (issue 24: an owner for workspace access)",
    when: ({ client }) => client?.mayActAlone === false,
    gives: told("not_asked")
  },
  {
    name: "who looks at a client sees how its question stands, and answers nothing",
    when: ({ command }) => command.says === "nothing",
    gives: (facts) => (facts.client === undefined ? [] : told(standingOfClient(facts.client, facts.world))(facts))
  },
  {
    name: "an owner who says again what was said changes nothing",
    when: ({ client, command }) => client?.answer === command.says,
    gives: told("was_so")
  },
  {
    name: "an owner's answer holds until another one (issue 24: an owner for workspace access)",
    when: () => true,
    gives: ({ client, command, state }) =>
      client === undefined || command.says === "nothing"
        ? []
        : [{ expect: { _tag: "Answered", outcome: "done" }, next: answered(state, client, command.says) }]
  }
]

export const answerClient = (facts: Facts, command: AnswerClient): ReadonlyArray<Alternative> =>
  firstThatHolds(answerClientRules, { ...facts, command, client: facts.state.clients.get(command.client) })
