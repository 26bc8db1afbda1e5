import type { Dice } from "../Dice.ts"
import type { OwnGrant } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule, refused400 } from "./Rule.ts"
import { type Client, type Grant, type Scope, type State, unasked, withClient, withGrant } from "./State.ts"
import { withNewRefresh, withoutRefresh } from "./tokens.ts"
import type { World } from "./World.ts"

/** What the rules of a host's own grant type may look at. */
export interface OwnGrantFacts extends ProofFacts {
  readonly command: OwnGrant
}

/** A host's own grant type, as the model knows it: what a script asks for, and what must come of it. */
export interface GrantTypeModel {
  /** That of its row. */
  readonly name: string
  /** The form of a request at this moment, without the client's own parameters. */
  readonly draw: (dice: Dice, state: State) => { readonly [name: string]: string }
  /** The first that holds decides, after the rules by which every client proves itself. */
  readonly rules: ReadonlyArray<Rule<OwnGrantFacts>>
}

export const ownGrantTypes = ({ grantTypes = [] }: World): ReadonlyArray<GrantTypeModel> =>
  // `World` is too low to name the type; `checkModel` takes nothing else.
  grantTypes as ReadonlyArray<GrantTypeModel>

const registeredOnly: Rule<OwnGrantFacts> = {
  name: "a client that did not register for the host's own grant type may not use it (RFC 6749 §5.2)",
  when: ({ command, presenter }) => presenter?.ownGrants.includes(command.grantType) === false,
  gives: refused400("unauthorized_client")
}

export const ownGrant = (facts: Facts, command: OwnGrant): ReadonlyArray<Alternative> => {
  const model = ownGrantTypes(facts.world).find(({ name }) => name === command.grantType)
  const presenter = facts.state.clients.get(command.by)
  return firstThatHolds([...proofRules, registeredOnly, ...(model?.rules ?? [])], {
    ...facts,
    command,
    presenter,
    proof: command.proof
  })
}

const madeBy = ({ command, state }: OwnGrantFacts, client: Client, user: string, scope: Grant["scope"]): Grant => ({
  ...unasked(state),
  name: `grant#${command.id}`,
  client: client.ref,
  user,
  scope,
  redirect: ""
})

/** The outcome of a rule by which a grant begins: tokens for a person, with a refresh token or without. */
export const beginsGrant =
  (of: { readonly user: string; readonly scope: ReadonlyArray<Scope>; readonly refresh: boolean }) =>
  (facts: OwnGrantFacts) => {
    const { command, presenter, state } = facts
    if (presenter === undefined) return []
    const grant = madeBy(facts, presenter, of.user, of.scope)
    const next = withClient(withGrant(state, grant), { ...presenter, hasCompletedAFlow: true })
    const issued = { ref: command.id, grant, scope: of.scope, resource: null, boundTo: null }
    return of.refresh ? withNewRefresh(facts, next, issued) : withoutRefresh(facts, next, issued)
  }
