import type { Refresh } from "../script/Command.ts"
import { forgery, provenKey } from "./keys.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  errorsOf,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Outcome,
  type Rule,
  refused,
  refused400
} from "./Rule.ts"
import { type Target, targetAtAuthorize, targetAtToken } from "./resource.ts"
import { dead, type Grant, isAlive, type RefreshToken, withClient, withGrant } from "./State.ts"
import { asksBeyond, asksForUnknown, asksOnlyUnknown, narrowed } from "./scope.ts"
import { withNewRefresh, withSameRefresh } from "./tokens.ts"

interface RefreshFacts extends ProofFacts {
  readonly command: Refresh
  readonly token: RefreshToken | undefined
  readonly grant: Grant | undefined
  readonly target: Target
}

const opens = ({ token, grant, state, presenter }: RefreshFacts): boolean =>
  token !== undefined &&
  grant !== undefined &&
  state.keys.includes(token.key) &&
  state.now < token.expiresAt &&
  state.clients.get(grant.client)?.workspace === presenter?.workspace

const reused = ({ state, grant }: RefreshFacts): ReadonlyArray<Outcome> =>
  grant === undefined
    ? []
    : [
        {
          expect: { _tag: "Refused", status: [400], error: ["invalid_grant"] },
          next: dead(state, grant, "refresh token reused")
        }
      ]

const isReuse = ({ token, grant, state, world }: RefreshFacts): boolean =>
  token !== undefined &&
  grant !== undefined &&
  token.generation < grant.generation &&
  (token.generation < grant.generation - 1 || state.now >= grant.turnedAt + world.refreshGrace)

/** Spent, and handed out before its line was bound: who has it need prove nothing. */
const isOlderThanKey = (facts: RefreshFacts): boolean =>
  isReuse(facts) && (facts.token?.generation ?? 0) < (facts.grant?.boundFrom ?? 0)

const isForeign = ({ command, world, presenter }: RefreshFacts): boolean =>
  targetAtAuthorize(command.resource, world, presenter?.workspace ?? 0) === "invalid"

/** Wrong whatever the token is. */
const malformations: ReadonlyArray<Fault<RefreshFacts>> = [
  {
    name: "a refresh for only unknown scopes is refused (RFC 6749 §5.2)",
    when: ({ command, world }) => asksOnlyUnknown(command.scope, world),
    errors: ["invalid_scope"]
  },
  {
    name: "a resource of somebody else is no target for a refresh (RFC 8707 §2)",
    when: isForeign,
    errors: ["invalid_target"]
  }
]

/** A token that is no good; a request that is wrong besides may be told that instead. */
const badToken = (facts: RefreshFacts): ReadonlyArray<Outcome> =>
  refused400("invalid_grant", ...errorsOf(malformations, facts))(facts)

/** OpenID Connect Core §12.2: who was signed in is told anew where the new access token has the scope. */
const identifies = ({ command, grant, world }: RefreshFacts): boolean =>
  grant?.signIn !== undefined && narrowed(command.scope, grant.scope, world).includes("openid")

/** What the answer carries, once the token's standing is settled. */
const granted = (facts: RefreshFacts, isRetry: boolean, isTold = identifies(facts)): ReadonlyArray<Outcome> => {
  const { grant, command, presenter, target } = facts
  if (grant === undefined || presenter === undefined || target === "invalid") return []
  // What could not be noted of a client when it had its first tokens is noted now.
  const state = withClient(facts.state, { ...presenter, hasCompletedAFlow: true })
  const boundTo = provenKey(command.key)
  const issued = {
    ref: command.id,
    scope: narrowed(command.scope, grant.scope, facts.world),
    resource: target.resource,
    boundTo,
    identifies: isTold
  }
  if (isRetry) return withSameRefresh(facts, state, { ...issued, grant })
  // RFC 9449 §5: a public client that proves a key is bound to it from then on.
  const line = presenter.isPublic === true ? (grant.boundTo ?? boundTo) : null
  const generation = grant.generation + 1
  const boundFrom = grant.boundTo === null && line !== null ? generation : grant.boundFrom
  const turned: Grant = { ...grant, generation, turnedAt: state.now, boundTo: line, boundFrom }
  return withNewRefresh(facts, withGrant(state, turned), { ...issued, grant: turned })
}

const faults: ReadonlyArray<Fault<RefreshFacts>> = [
  ...malformations,
  {
    name: "a refresh never widens the scope, and asking does not burn the token (RFC 6749 §6)",
    when: ({ command, grant, world }) => asksBeyond(command.scope, grant?.scope ?? [], world),
    errors: ["invalid_scope"]
  },
  {
    name: "a refresh never widens the audience, and asking does not burn the token (RFC 8707 §2.2)",
    when: (facts) => facts.target === "invalid" && !isForeign(facts),
    errors: ["invalid_target"]
  }
]

export const refreshRules: ReadonlyArray<Rule<RefreshFacts>> = [
  ...proofRules,
  forgery,
  {
    name: "a client without the code grant has nothing to refresh (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.mayUseCodes === false && !presenter.mayAskByDevice,
    gives: refused(400, "unauthorized_client")
  },
  {
    name: "a refresh token that is unknown, expired, or of another kind, key ring or workspace is refused",
    when: (facts) => !opens(facts),
    gives: badToken
  },
  {
    name: "another client's attempt on a refresh token changes nothing",
    when: ({ grant, presenter }) => grant?.client !== presenter?.ref,
    gives: badToken
  },
  {
    name: "the refresh token of a dead grant is refused",
    when: ({ grant, state }) => grant !== undefined && !isAlive(state, grant),
    gives: badToken
  },
  {
    name: "a refresh token that is bound is nothing without its key, and ends nothing (RFC 9449 §5)",
    when: (facts) => {
      const { command, grant } = facts
      return grant?.boundTo != null && grant.boundTo !== provenKey(command.key) && !isOlderThanKey(facts)
    },
    gives: (facts) => refused400("invalid_grant", "invalid_dpop_proof", ...errorsOf(malformations, facts))(facts)
  },
  {
    name: "a reuse that asks for what nobody has may be told that first",
    when: (facts) => isReuse(facts) && errorsOf(malformations, facts).length > 0,
    gives: (facts) => [...reused(facts), ...refused400(...errorsOf(malformations, facts))(facts)]
  },
  {
    name: "a refresh token whose successor was used kills its grant (RFC 9700 §4.14.2)",
    when: ({ token, grant }) => token !== undefined && grant !== undefined && token.generation < grant.generation - 1,
    gives: reused
  },
  {
    name: "a superseded refresh token kills its grant once the grace is over (RFC 9700 §4.14.2)",
    when: ({ token, grant, state, world }) =>
      token !== undefined &&
      grant !== undefined &&
      token.generation < grant.generation &&
      state.now >= grant.turnedAt + world.refreshGrace,
    gives: reused
  },
  ...inAnyOrder(faults, refused400),
  {
    name: "an unknown scope beside a known one is dropped or refused (RFC 6749 §6)",
    when: ({ command, token, grant, world }) =>
      asksForUnknown(command.scope, world) && token?.generation === grant?.generation,
    gives: (facts) => [...granted(facts, false), ...refused(400, "invalid_scope")(facts)]
  },
  {
    name: "a retry within the grace proves no key where the refresh before it proved none (RFC 9449 §5)",
    when: ({ command, grant, presenter, token }) =>
      token?.generation !== grant?.generation &&
      presenter?.isPublic === true &&
      grant?.boundTo == null &&
      provenKey(command.key) !== null,
    gives: (facts) => {
      const unknown = asksForUnknown(facts.command.scope, facts.world) ? ["invalid_scope"] : []
      return refused400("invalid_grant", "invalid_dpop_proof", ...unknown)(facts)
    }
  },
  {
    name: "a retry within the grace gets the same successor",
    when: ({ token, grant }) => token?.generation !== grant?.generation,
    gives: (facts) => [
      ...granted(facts, true),
      ...(asksForUnknown(facts.command.scope, facts.world) ? refused(400, "invalid_scope")(facts) : [])
    ]
  },
  {
    name: "the refresh token of who signed in brings an ID token again (OpenID Connect Core §12.2)",
    when: identifies,
    gives: (facts) => granted(facts, false)
  },
  {
    name: "the current refresh token turns into its successor (RFC 6749 §6)",
    when: () => true,
    gives: (facts) => granted(facts, false, false)
  }
]

export const refresh = (facts: Facts, command: Refresh): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  const token = command.token.kind === "refresh" ? facts.state.refresh.get(command.token.ref) : undefined
  const grant = token === undefined ? undefined : facts.state.grants.get(token.grant)
  return firstThatHolds(refreshRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    token,
    grant,
    target: targetAtToken(command.resource, grant?.resource ?? null, facts.world, presenter?.workspace ?? 0)
  })
}
