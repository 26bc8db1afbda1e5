import type { Decide } from "../script/Command.ts"
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
}

const readablePage = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Page" }, next: state }]

/** Pages of one pushed request are answered with each other. */
const answered = (state: State, page: Page, decided: "approve" | "deny"): State =>
  [...state.pages.values()]
    .filter(({ ref, request }) => ref === page.ref || (request !== null && request === page.request))
    .reduce((before, one) => withPage(before, { ...one, decided }), state)

const approved = ({ state, page, command, world, client }: DecideFacts): ReadonlyArray<Outcome> => {
  if (page === undefined || client === undefined) return []
  const grant: Grant = {
    name: `grant#${command.id}`,
    client: page.client,
    user: page.user,
    page: page.request ?? page.ref,
    scope: page.scope,
    resource: page.resource,
    redirect: page.redirect,
    hasChallenge: page.hasChallenge,
    boundTo: page.boundTo,
    bornAt: state.now,
    codeKey: sealingKey(state),
    generation: 0,
    turnedAt: state.now,
    death: null
  }
  return [
    {
      expect: {
        _tag: "SentBack",
        to: page.redirect,
        state: page.state,
        issuer: world.issuers[client.workspace],
        error: null
      },
      next: withClient(answered(withGrant(state, grant), page, "approve"), {
        ...client,
        heldUnder: null
      })
    }
  ]
}

const grantOf = (state: State, page: Page | undefined): Grant | undefined =>
  [...state.grants.values()].find((grant) => page !== undefined && grant.page === (page.request ?? page.ref))

/** No, after a yes that no client has made use of yet, takes the yes back. */
const takenBack = (state: State, page: Page): State => {
  const grant = grantOf(state, page)
  return grant === undefined || grant.death !== null ? state : dead(state, grant, "taken back")
}

const denied = ({ state, page, world, client }: DecideFacts): ReadonlyArray<Outcome> =>
  page === undefined || client === undefined
    ? []
    : [
        {
          expect: {
            _tag: "SentBack",
            to: page.redirect,
            state: page.state,
            issuer: world.issuers[client.workspace],
            error: ["access_denied"]
          },
          next: answered(takenBack(state, page), page, "deny")
        }
      ]

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
    name: "a second click on Approve gives no second code",
    when: ({ page, command }) => page?.decided === "approve" && command.decision === "approve",
    gives: readablePage
  },
  {
    name: "a page that was open for too long decides nothing",
    when: ({ page, state, world }) => page !== undefined && state.now >= page.shownAt + world.consentTtl,
    gives: readablePage
  },
  {
    name: "a page sealed under a key that was dropped decides nothing",
    when: ({ page, state }) => page !== undefined && !state.keys.includes(page.key),
    gives: readablePage
  },
  {
    name: "a request that was denied stays denied",
    when: ({ page, command }) => page?.decided === "deny" && command.decision === "approve",
    gives: readablePage
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
    name: "approving sends back a code (RFC 6749 §4.1.2)",
    when: () => true,
    gives: approved
  }
]

export const decide = (facts: Facts, command: Decide): ReadonlyArray<Alternative> => {
  const page = facts.state.pages.get(command.page)
  return firstThatHolds(decideRules, {
    ...facts,
    command,
    page,
    client: page === undefined ? undefined : facts.state.clients.get(page.client)
  })
}
