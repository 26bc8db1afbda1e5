import type { DeleteClient } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule } from "./Rule.ts"
import { type Client, withClient } from "./State.ts"

interface DeleteFacts extends Facts {
  readonly command: DeleteClient
  readonly client: Client | undefined
}

const done = { _tag: "Done", status: 204 } as const

const refusedAccess = ({ state }: Facts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "Turned away", status: 401, error: ["invalid_token"] }, next: state }
]

export const deleteClientRules: ReadonlyArray<Rule<DeleteFacts>> = [
  {
    name: "deleting twice at the same moment may be told done twice",
    when: ({ client, command, state }) => client?.deletedAt === state.now && command.with === command.client,
    gives: (facts) => [...refusedAccess(facts), { expect: done, next: facts.state }]
  },
  {
    name: "only its own registration access token deletes a client, once (RFC 7592 §2.3)",
    when: ({ client, command }) => client === undefined || client.isDeleted || command.with !== command.client,
    gives: refusedAccess
  },
  {
    name: "deleting a client ends all that it was granted (RFC 7592 §2.3)",
    when: () => true,
    gives: ({ state, client }) =>
      client === undefined
        ? []
        : [{ expect: done, next: withClient(state, { ...client, isDeleted: true, deletedAt: state.now }) }]
  }
]

export const deleteClient = (facts: Facts, command: DeleteClient): ReadonlyArray<Alternative> =>
  firstThatHolds(deleteClientRules, { ...facts, command, client: facts.state.clients.get(command.client) })
