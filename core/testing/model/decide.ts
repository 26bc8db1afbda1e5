import type { Decide } from "../script/Command.ts"
import { type Chosen, chosenOn, placesOf } from "./place.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule } from "./Rule.ts"
import {
  type Client,
  dead,
  type Grant,
  type Page,
  type State,
  sealingKey,
  withClient,
  withGrant,
  withPage
} from "./State.ts"

interface DecideFacts extends Facts {
  readonly command: Decide
  readonly page: Page | undefined
  readonly client: Client | undefined
  /** What an approval says of the place. */
  readonly chosen: Chosen
}

const isPlaceless = ({ chosen, command }: DecideFacts): boolean =>
  command.decision === "approve" && (chosen === "not theirs" || chosen === "none chosen")

const consentAgain = ({ client, state, world }: DecideFacts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "ConsentAgain", issuer: world.issuers[client?.workspace ?? 0] }, next: state }
]

/** Where a place is wanted as well, either may be told: nothing is written in both cases. */
const nothingMore = (facts: DecideFacts): ReadonlyArray<Outcome> => [
  ...readablePage(facts),
  ...(isPlaceless(facts) ? consentAgain(facts) : [])
]

const readablePage = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Page" }, next: state }]

/** Where the answer goes: a device is told when it polls, and the person by a page. */
const told = (
  { world, page, client }: DecideFacts,
  error: ReadonlyArray<string> | null,
  next: State
): ReadonlyArray<Outcome> => {
  if (page === undefined || client === undefined) return []
  const { redirect: to, state } = page
  const issuer = world.issuers[client.workspace]
  return [{ expect: to === null ? { _tag: "Page" } : { _tag: "SentBack", to, state, issuer, error }, next }]
}

/** Pages of one pushed request, or of one device, are answered with each other. */
const answered = (state: State, page: Page, decided: "approve" | "deny"): State =>
  [...state.pages.values()]
    .filter(({ ref, request }) => ref === page.ref || (request !== null && request === page.request))
    .reduce((before, one) => withPage(before, { ...one, decided, decidedBy: page.user }), state)

const approved = (facts: DecideFacts, at?: Exclude<Chosen, string>): ReadonlyArray<Outcome> => {
  const { state, page, command, client } = facts
  if (page === undefined || client === undefined) return []
  const grant: Grant = {
    name: `grant#${command.id}`,
    client: page.client,
    user: page.user,
    page: page.request ?? page.ref,
    scope: at?.scope ?? page.scope,
    place: at?.place,
    resource: page.resource,
    redirect: page.redirect,
    hasChallenge: page.hasChallenge,
    boundTo: page.boundTo,
    signIn: page.signIn,
    bornAt: state.now,
    codeKey: sealingKey(state),
    generation: 0,
    turnedAt: state.now,
    death: null
  }
  return told(
    facts,
    null,
    withClient(answered(withGrant(state, grant), page, "approve"), { ...client, heldUnder: null })
  )
}

const grantOf = (state: State, page: Page | undefined): Grant | undefined =>
  [...state.grants.values()].find((grant) => page !== undefined && grant.page === (page.request ?? page.ref))

/** No, after a yes that no client has made use of yet, takes the yes back. */
const takenBack = (state: State, page: Page): State => {
  const grant = grantOf(state, page)
  return grant === undefined || grant.death !== null ? state : dead(state, grant, "taken back")
}

const denied = (facts: DecideFacts): ReadonlyArray<Outcome> => {
  const { page, state } = facts
  return page === undefined ? [] : told(facts, ["access_denied"], answered(takenBack(state, page), page, "deny"))
}

export const decideRules: ReadonlyArray<Rule<DecideFacts>> = [
  {
    name: "a form that somebody else or a forger posts decides nothing",
    when: ({ command }) => command.by !== "viewer",
    gives: readablePage
  },
  {
    name: "consent to a deleted client is no consent",
    when: ({ client }) => client === undefined || client.isDeleted,
    gives: readablePage
  },
  {
    name: "what one person answered for a device, nobody else answers again",
    when: ({ page }) => page != null && page.decidedBy !== null && page.decidedBy !== page.user,
    gives: readablePage
  },
  {
    name: "a second click on Approve gives no second code",
    when: ({ page, command, state }) =>
      // An approval that was struck before its grant began is finished by the next one.
      page?.decided === "approve" && command.decision === "approve" && grantOf(state, page) !== undefined,
    gives: nothingMore
  },
  {
    name: "a page that was open for too long decides nothing",
    when: ({ page, state }) => page !== undefined && state.now >= page.until,
    gives: nothingMore
  },
  {
    name: "a page sealed under a key that was dropped decides nothing",
    when: ({ page, state }) => page !== undefined && !state.keys.includes(page.key),
    gives: readablePage
  },
  {
    name: "a request that was denied stays denied",
    when: ({ page, command }) => page?.decided === "deny" && command.decision === "approve",
    gives: nothingMore
  },
  {
    name: "denying what the client has tokens for ends nothing",
    when: ({ page, state, command }) => {
      const grant = grantOf(state, page)
      return command.decision === "deny" && grant !== undefined && grant.generation > 0 && grant.death === null
    },
    gives: readablePage
  },
  {
    name: "denying sends back access_denied and grants nothing (RFC 6749 §4.1.2.1)",
    when: ({ command }) => command.decision === "deny",
    gives: denied
  },
  {
    name: "approving at a place that is not the person's, or not any more, writes nothing (issue 22: choice of place)",
    when: ({ chosen }) => chosen === "not theirs",
    gives: consentAgain
  },
  {
    name: "who has several places chooses one (issue 22: choice of place)",
    when: ({ chosen }) => chosen === "none chosen",
    gives: consentAgain
  },
  {
    name: "what is approved at a place is good there alone, for what that place takes (issue 22: choice of place)",
    when: ({ chosen }) => typeof chosen !== "string",
    gives: (facts) => (typeof facts.chosen === "string" ? [] : approved(facts, facts.chosen))
  },
  {
    name: "approving sends back a code (RFC 6749 §4.1.2)",
    when: () => true,
    gives: (facts) => approved(facts)
  }
]

export const decide = (facts: Facts, command: Decide): ReadonlyArray<Alternative> => {
  const page = facts.state.pages.get(command.page)
  const client = page === undefined ? undefined : facts.state.clients.get(page.client)
  const places = page === undefined ? [] : placesOf(facts.state, client?.workspace ?? 0, page.user)
  const chosen = page === undefined ? "nowhere" : chosenOn(page, places, command.place)
  return firstThatHolds(decideRules, { ...facts, command, page, client, chosen })
}
