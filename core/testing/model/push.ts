import type { Push, Visit } from "../script/Command.ts"
import { type AuthorizeFacts, askedBy, faults, readAsked } from "./authorize.ts"
import { forgery, provenKey } from "./keys.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Rule,
  refused400,
  showsPage
} from "./Rule.ts"
import { type Client, type Request, sealingKey, withPage, withRequest } from "./State.ts"
import { pushedTtl } from "./World.ts"

interface PushFacts extends AuthorizeFacts, ProofFacts {
  readonly command: Push & { readonly twice: null }
}

const pushFaults: ReadonlyArray<Fault<PushFacts>> = [
  ...faults,
  {
    name: "a request with a redirect URI that is not registered cannot be pushed (RFC 9126 §2.3)",
    when: ({ redirectFits }) => !redirectFits,
    errors: ["invalid_request"]
  },
  {
    name: "a pushed request names the key that it proves, and no other (RFC 9449 §10.1)",
    when: ({ command }) => command.jkt !== undefined && command.key !== undefined && command.jkt !== command.key,
    errors: ["invalid_dpop_proof", "invalid_request"]
  }
]

export const pushRules: ReadonlyArray<Rule<PushFacts>> = [
  ...proofRules,
  forgery,
  ...inAnyOrder(pushFaults, refused400),
  {
    name: "a pushed request waits for a browser (RFC 9126 §2.2)",
    when: () => true,
    gives: (facts) => {
      const { command, state } = facts
      const asked = askedBy(facts)
      const request = { ...asked, boundTo: asked.boundTo ?? provenKey(command.key), until: state.now + pushedTtl }
      return [{ expect: { _tag: "Pushed" }, next: withRequest(state, request) }]
    }
  }
]

export const push = (facts: Facts, command: Push): ReadonlyArray<Alternative> => {
  const asked = readAsked(facts, { ...command, twice: null })
  return firstThatHolds(pushRules, { ...asked, presenter: asked.client, proof: command.proof })
}

interface VisitFacts extends Facts {
  readonly command: Visit
  readonly client: Client | undefined
  readonly request: Request | undefined
  readonly isAnswered: boolean
}

export const visitRules: ReadonlyArray<Rule<VisitFacts>> = [
  {
    name: "a pushed request of a deleted client is nobody's",
    when: ({ client }) => client === undefined || client.isDeleted,
    gives: showsPage
  },
  {
    name: "a pushed request is its client's alone (RFC 9126 §2.2)",
    when: ({ command, request }) => request?.client !== command.client,
    gives: showsPage
  },
  {
    name: "a pushed request is used up by its answer (RFC 9126 §7.3)",
    when: ({ isAnswered }) => isAnswered,
    gives: showsPage
  },
  {
    name: "a browser that comes too late with a pushed request finds nothing (RFC 9126 §2.2)",
    when: ({ request, state }) => request !== undefined && state.now >= request.until,
    gives: showsPage
  },
  {
    name: "a pushed request under a key that was dropped is nothing",
    when: ({ request, state }) => request !== undefined && !state.keys.includes(request.key),
    gives: showsPage
  },
  {
    name: "who comes with a pushed request is asked for consent, and looking uses nothing up (RFC 9126 §4)",
    when: () => true,
    gives: ({ command, request, state, world }) =>
      request === undefined
        ? []
        : [
            {
              expect: { _tag: "ConsentPage" },
              next: withPage(state, {
                ...request,
                ref: command.id,
                request: request.ref,
                // A person who comes at the last moment has as long for the page as any other.
                until: request.until + world.consentTtl,
                key: sealingKey(state),
                decided: null,
                decidedBy: null
              })
            }
          ]
  }
]

export const visit = (facts: Facts, command: Visit): ReadonlyArray<Alternative> =>
  firstThatHolds(visitRules, {
    ...facts,
    command,
    client: facts.state.clients.get(command.client),
    request: facts.state.requests.get(command.request),
    isAnswered: [...facts.state.pages.values()].some(
      ({ decided, request }) => request === command.request && decided !== null
    )
  })
