import type { Authorize, ClaimsAsked, Push } from "../script/Command.ts"
import { redirectText } from "../script/redirectText.ts"
import { isCopy, redirectsOf } from "./document.ts"
import { drawnFor, offerOf, placesOf } from "./place.ts"
import {
  type Alternative,
  away,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Rule,
  showsPage
} from "./Rule.ts"
import { type Target, targetAtAuthorize } from "./resource.ts"
import { type Client, type IdToken, mayBeForgotten, type Scope, sealingKey, withPage } from "./State.ts"
import { grantable } from "./scope.ts"

export interface AuthorizeFacts extends Facts {
  readonly command: Authorize | (Push & { readonly twice: null })
  readonly client: Client | undefined
  readonly redirect: string | null
  readonly redirectFits: boolean
  readonly scope: ReadonlyArray<Scope>
  readonly target: Target
  /** Whom `id_token_hint` names, and to whom: a request that is no sign-in never looks at it. */
  readonly hint: IdToken | undefined
  /** The person whom `claims` name, if any. */
  readonly only: string | undefined
}

const wishes = ({ prompt }: AuthorizeFacts["command"]): ReadonlyArray<string> => prompt?.split(" ") ?? []

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?(?=[/?]|$)/

/** RFC 8252 §7.3: the port of a loopback URI is chosen when the app runs. Everything else is the same text. */
export const fits = (sent: string, registered: string): boolean =>
  sent === registered ||
  (loopback.test(sent) &&
    loopback.test(registered) &&
    sent.replace(loopback, "http://$1") === registered.replace(loopback, "http://$1"))

/**
 * RFC 6749 §4.1.2.1 and RFC 9207 §2: back to the client, with what was wrong. RFC 9700 §4.11.2: of a client that no
 * person has approved yet, a page tells.
 */
const sentBack =
  (...error: ReadonlyArray<string>) =>
  (facts: AuthorizeFacts) => {
    const { state, world, client, redirect, command } = facts
    if (client?.hasCompletedAFlow === false) return showsPage(facts)
    return [
      ...(client !== undefined && mayBeForgotten(state, client) ? showsPage(facts) : []),
      {
        expect: {
          _tag: "SentBack",
          to: redirect ?? "",
          state: command.twice === "state" ? null : command.state,
          issuer: world.issuers[client?.workspace ?? 0],
          error
        } as const,
        next: state
      }
    ]
  }

export const faults: ReadonlyArray<Fault<AuthorizeFacts>> = [
  {
    name: "a repeated parameter is refused (RFC 6749 §3.1)",
    when: ({ command }) => command.twice !== null,
    errors: ["invalid_request"]
  },
  {
    name: "a response type is needed (RFC 6749 §4.1.1)",
    when: ({ command }) => command.responseType === null,
    errors: ["invalid_request", "unsupported_response_type"]
  },
  {
    name: "code is the only response type (RFC 9700 §2.1.2)",
    when: ({ command }) => command.responseType !== "code",
    errors: ["unsupported_response_type"]
  },
  {
    name: "a client without the code grant may not ask for a code (RFC 6749 §4.1.2.1)",
    when: ({ client }) => client?.mayUseCodes === false,
    errors: ["unauthorized_client"]
  },
  {
    name: "a public client needs PKCE (RFC 9700 §2.1.1)",
    when: ({ client, command, world }) =>
      (client?.isPublic === true || world.requirePkce) && command.challenge === "none",
    errors: ["invalid_request"]
  },
  {
    name: "a challenge is 43 to 128 unreserved characters under S256 (RFC 7636 §4.2)",
    when: ({ command }) => command.challenge !== "none" && command.challenge !== "S256",
    errors: ["invalid_request"]
  },
  {
    name: "a scope that nobody knows is refused (RFC 6749 §3.3)",
    when: ({ scope }) => scope.length === 0,
    errors: ["invalid_scope"]
  },
  {
    name: "a resource of somebody else is refused (RFC 8707 §2)",
    when: ({ target }) => target === "invalid",
    errors: ["invalid_target"]
  },
  {
    name: "a prompt for no page stands alone (OpenID Connect Core §3.1.2.1)",
    when: ({ command }) => wishes(command).includes("none") && wishes(command).length > 1,
    errors: ["invalid_request"]
  },
  {
    name: "a hint is an ID token of this client's own (OpenID Connect Core §3.1.2.1)",
    when: ({ command, hint }) => hint !== undefined && hint.client !== command.client,
    errors: ["invalid_request"]
  },
  {
    name: "claims are asked for by a JSON object (OpenID Connect Core §5.5)",
    when: ({ command, scope }) => scope.includes("openid") && command.claims === "no claims",
    errors: ["invalid_request"]
  },
  {
    name: "a hint and claims that name two people name nobody (OpenID Connect Core §3.1.2.1, §5.5.1)",
    when: ({ hint, only }) => hint !== undefined && only !== undefined && hint.user !== only,
    errors: ["invalid_request"]
  }
]

/** OpenID Connect Core §3.1.2.1: whether the session is too old or another's. No person signs in a second time. */
const needsSignIn = ({ command, hint, only, state, world }: AuthorizeFacts): boolean => {
  const { fresh, user } = command
  const isTooOld = fresh !== undefined && (fresh === 0 || state.now > world.startsAt + fresh * 1000)
  return isTooOld || [hint?.user, only].some((one) => one !== undefined && one !== user)
}

/** What a person is asked. */
export const askedBy = ({ command, redirect, scope, state, target }: AuthorizeFacts) => ({
  ref: command.id,
  client: command.client,
  user: command.user,
  redirect: redirect ?? "",
  state: command.state,
  scope,
  resource: target === "invalid" ? null : target.resource,
  hasChallenge: command.challenge !== "none",
  boundTo: command.jkt ?? null,
  ...(scope.includes("openid")
    ? {
        signIn: {
          nonce: command.nonce ?? null,
          tellsTime: command.maxAge === true || command.fresh !== undefined || asksForTime(command.claims),
          tellsName: asksForName(command.claims),
          isOffline: command.scope?.split(" ").includes("offline_access") === true
        }
      }
    : {}),
  key: sealingKey(state)
})

const offerTo = ({ client, command, scope, state }: AuthorizeFacts) =>
  offerOf(placesOf(state, client?.workspace ?? 0, command.user), scope)

/** What comes of a request that is as it should be. */
const askingRules: ReadonlyArray<Rule<AuthorizeFacts>> = [
  {
    name: "who would have to sign in, and may be shown no page, is sent back (OpenID Connect Core §3.1.2.6)",
    when: (facts) => wishes(facts.command).includes("none") && needsSignIn(facts),
    gives: sentBack("login_required")
  },
  {
    name: "who has to sign in anew is sent to where that is (OpenID Connect Core §3.1.2.1)",
    when: (facts) => wishes(facts.command).includes("login") || needsSignIn(facts),
    gives: ({ state }) => [{ expect: { _tag: "SentToSignIn" }, next: state }]
  },
  {
    name: "what nobody can allow at any of their places is refused (issue 22: scopes are those of the place)",
    when: (facts) => offerTo(facts)?.length === 0,
    gives: sentBack("invalid_scope")
  },
  {
    name: "who may be shown no page is asked nothing (OpenID Connect Core §3.1.2.6)",
    when: ({ command }) => wishes(command).includes("none"),
    gives: sentBack("consent_required")
  },
  {
    name: "who is signed in is asked for consent (RFC 6749 §4.1.1)",
    when: () => true,
    gives: (facts) => [
      {
        expect: { _tag: "ConsentPage" },
        next: withPage(facts.state, {
          ...askedBy(facts),
          ...drawnFor(offerTo(facts), facts.scope),
          document: isCopy(facts.reading) ? facts.reading : undefined,
          request: null,
          until: facts.state.now + facts.world.consentTtl,
          decided: null,
          decidedBy: null
        })
      }
    ]
  }
]

export const authorizeRules: ReadonlyArray<Rule<AuthorizeFacts>> = [
  {
    name: "an unknown client gets a page and no redirect (RFC 6749 §4.1.2.1)",
    when: ({ client, command }) => client === undefined || client.isDeleted || command.twice === "client_id",
    gives: showsPage
  },
  {
    name: "where a client's document cannot be had, a page says so (issue 24)",
    when: ({ reading }) => reading === "nothing",
    gives: away
  },
  {
    name: "a redirect URI that is not registered gets a page and no redirect (RFC 6749 §4.1.2.1)",
    when: ({ redirectFits, command }) => !redirectFits || command.twice === "redirect_uri",
    gives: showsPage
  },
  ...inAnyOrder(faults, sentBack),
  {
    name: "a hint that is past its end may name somebody as long as its key is there (OpenID Connect Core §3.1.2.1)",
    when: ({ hint, state }) => hint !== undefined && state.now >= hint.expiresAt,
    gives: (facts) => [...firstThatHolds(askingRules, facts), ...sentBack("invalid_request")(facts)]
  },
  ...askingRules
]

/** What is known of a request, however it came. */
export const readAsked = <C extends AuthorizeFacts["command"]>(facts: Facts, command: C) => {
  const client = facts.state.clients.get(command.client)
  const redirect = client === undefined ? null : redirectText(client.redirects, command.redirect, command.twist)
  const scope = widenedBy(command.claims, grantable(command.scope, facts.world))
  return {
    ...facts,
    command,
    client,
    redirect,
    redirectFits:
      redirect !== null &&
      client !== undefined &&
      redirectsOf(client, facts.reading).some((registered) => fits(redirect, registered)),
    scope,
    target: targetAtAuthorize(command.resource, facts.world, client?.workspace ?? 0),
    hint: scope.includes("openid") ? facts.state.idTokens.get(command.hint ?? 0) : undefined,
    only: scope.includes("openid") ? onlyAbout(command.claims) : undefined
  }
}

export const authorize = (facts: Facts, command: Authorize): ReadonlyArray<Alternative> =>
  firstThatHolds(authorizeRules, readAsked(facts, command))

const isOneOf = (claims: ClaimsAsked | undefined, ...all: ReadonlyArray<ClaimsAsked>): boolean =>
  claims !== undefined && all.includes(claims)

/** OpenID Connect Core §5.5: in a sign-in request, a claim by its name brings the scope that covers it. */
const widenedBy = (claims: ClaimsAsked | undefined, scope: ReadonlyArray<Scope>): ReadonlyArray<Scope> =>
  scope.includes("openid") &&
  !scope.includes("profile") &&
  isOneOf(claims, "name in the ID token", "name at userinfo", "name and time")
    ? [...scope, "profile"]
    : scope

const asksForTime = (claims: ClaimsAsked | undefined): boolean => isOneOf(claims, "time of sign-in", "name and time")

const asksForName = (claims: ClaimsAsked | undefined): boolean =>
  isOneOf(claims, "name in the ID token", "name and time")

/** Whom alone the answer may name. */
const onlyAbout = (claims: ClaimsAsked | undefined): string | undefined =>
  claims === "only ann" ? "ann" : claims === "only bob" ? "bob" : undefined
