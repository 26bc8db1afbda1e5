import type { Decide } from "../script/Command.ts"
import { redirectsNamed } from "../script/redirectText.ts"
import { fits } from "./authorize.ts"
import { lettingIn, redirectsOf } from "./document.ts"
import { type Chosen, chosenOn, placesOf } from "./place.ts"
import { type Alternative, away, type Facts, firstThatHolds, type Outcome, type Rule, showsPage } from "./Rule.ts"
import {
  type Client,
  type Copy,
  dead,
  type Grant,
  mayBeForgotten,
  type Page,
  type State,
  sealingKey,
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

/** A client that was known when its page was drawn, and may be forgotten by now: then it is asked about as a new one. */
const isNewByNow = ({ client, command, page, state }: DecideFacts): boolean =>
  command.decision === "approve" &&
  client !== undefined &&
  (page?.isOutlived === true || (client.hasCompletedAFlow && mayBeForgotten(state, client)))

const consentAgain = ({ client, state, world }: DecideFacts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "ConsentAgain", issuer: world.issuers[client?.workspace ?? 0] }, next: state }
]

/** Where more is wanted as well, either may be told: nothing is written in both cases. */
const nothingMore = (facts: DecideFacts): ReadonlyArray<Outcome> => [
  ...showsPage(facts),
  ...(isPlaceless(facts) || isNewByNow(facts) ? consentAgain(facts) : [])
]

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
  const begun = answered(state, page, "approve")
  const letIn = lettingIn(begun, { ...client, heldUnder: null })
  return [
    ...letIn.flatMap((next) => told(facts, null, withGrant(next, grant))),
    ...(isNewByNow(facts) ? consentAgain(facts) : [])
  ]
}

/** A client with a document may be let in anew with it. */
const clickedAgain = (facts: DecideFacts): ReadonlyArray<Outcome> => {
  const { client, state } = facts
  const letIn = client?.document === undefined ? [] : lettingIn(state, client)
  return [state, ...letIn].flatMap((next) => nothingMore({ ...facts, state: next }))
}

/** The document is another than the page was drawn for: any change of it is to be asked about again. */
const isDrawnForAnother = ({ client, page, reading }: DecideFacts): boolean =>
  client !== undefined &&
  reading !== undefined &&
  page?.document !== undefined &&
  redirectsOf(client, reading).join(" ") !== page.document.names.join(" ")

/** Whether something that was read since the page was drawn, or could be read now, names the redirect URI no more. */
const mayBeUnreachable = ({ client, page }: DecideFacts): boolean => {
  const drawn = page?.document
  if (client?.document === undefined || drawn === undefined) return false
  const { copy, isBlocked, record, says } = client.document
  const isLater = (one: Copy | null): one is Copy => one !== null && one.until > drawn.until
  const later = [
    ...[copy, record].filter(isLater).map(({ names }) => names),
    redirectsNamed(client.redirects, says) ?? drawn.names
  ]
  const isGone = later.some((names) => !names.some((named) => fits(page?.redirect ?? "", named)))
  return isBlocked || page?.isOutlived === true || isGone
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
    gives: showsPage
  },
  {
    name: "consent to a deleted client is no consent",
    when: ({ client }) => client === undefined || client.isDeleted,
    gives: showsPage
  },
  {
    name: "a page from before a ban lets nobody in, though it may once that is taken back (issue 24: an owner stays in charge)",
    when: ({ command, page, reading }) =>
      page?.document !== undefined && command.decision === "approve" && reading === undefined,
    gives: showsPage
  },
  {
    name: "nobody lets in a client whose document cannot be had (issue 24)",
    when: ({ reading }) => reading === "nothing",
    gives: away
  },
  {
    name: "what one person answered for a device, nobody else answers again",
    when: ({ page }) => page != null && page.decidedBy !== null && page.decidedBy !== page.user,
    gives: showsPage
  },
  {
    name: "a second click on Approve gives no second code",
    when: ({ page, command, state }) =>
      // An approval that was struck before its grant began is finished by the next one.
      page?.decided === "approve" && command.decision === "approve" && grantOf(state, page) !== undefined,
    gives: clickedAgain
  },
  {
    name: "a page that was drawn for another document lets nobody in (issue 24: what changes between fetch and consent)",
    when: isDrawnForAnother,
    // What was approved before its grant could begin may go on.
    gives: (facts) => [...nothingMore(facts), ...(facts.page?.decided === "approve" ? approved(facts) : [])]
  },
  {
    name: "a page that was open for too long decides nothing",
    when: ({ page, state }) => page !== undefined && state.now >= page.until,
    gives: nothingMore
  },
  {
    name: "a page sealed under a key that was dropped decides nothing",
    when: ({ page, state }) => page !== undefined && !state.keys.includes(page.key),
    gives: showsPage
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
    gives: showsPage
  },
  {
    name: "a no to a client that may not be sent back to that address any more may be told on a page (RFC 9700 §4.11.2)",
    when: (facts) => facts.command.decision === "deny" && mayBeUnreachable(facts),
    gives: (facts) => [...denied(facts), ...showsPage(facts)]
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
