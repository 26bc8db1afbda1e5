import type { Rekey } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule } from "./Rule.ts"
import { type Client, withClient } from "./State.ts"

interface RekeyFacts extends Facts {
  readonly command: Rekey
  readonly client: Client | undefined
}

export const rekeyRules: ReadonlyArray<Rule<RekeyFacts>> = [
  {
    name: "only its own registration access token changes a client (RFC 7592 §2.2)",
    when: ({ client, command }) => client === undefined || client.isDeleted || command.with !== command.client,
    gives: ({ state }) => [{ expect: { _tag: "Turned away", status: 401, error: ["invalid_token"] }, next: state }]
  },
  {
    name: "a client that signs may say that it has another key, and has no other then (RFC 7592 §2.2)",
    when: () => true,
    gives: ({ client, command, state }) => {
      if (client === undefined) return []
      // What it does not register for again, it gives up: to exchange tokens, too.
      const next = withClient(state, { ...client, signsWith: command.key, serves: null })
      return [{ expect: { _tag: "Done", status: 200 }, next }]
    }
  }
]

export const rekey = (facts: Facts, command: Rekey): ReadonlyArray<Alternative> =>
  firstThatHolds(rekeyRules, { ...facts, command, client: facts.state.clients.get(command.client) })
