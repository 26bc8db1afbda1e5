import type { KeyName, Ref } from "../script/Command.ts"
import type { Expectation, Identity } from "./Expectation.ts"
import type { Facts, Outcome } from "./Rule.ts"
import {
  type Access,
  type Grant,
  type Scope,
  type State,
  sealingKey,
  withAccess,
  withIdToken,
  withRefresh
} from "./State.ts"
import { worthOf } from "./standing.ts"

interface Issued {
  readonly ref: Ref
  readonly grant: Grant
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  /** The key that was proven. */
  readonly boundTo: KeyName | null
  /** An ID token stands beside it. */
  readonly identifies?: boolean
  /** Of an exchanged one: who exchanged, and when the one ends that was shown. */
  readonly exchanged?: Pick<Access, "actors" | "expiresAt">
}

/** The last moment that anything refreshed from a grant may live. */
export const endOf = (grant: Grant, { world }: Facts): number => grant.bornAt + world.refreshMaxTtl

/** OpenID Connect Core §2: of every request that signs in `sub` and the session, of the sign-in what was asked. */
const identityOf = ({ world }: Facts, state: State, { grant, ref }: Issued): Identity | null => {
  const { client, identifiedBy, signIn, user } = grant
  if (signIn === undefined || user === null) return null
  const isFirst = identifiedBy === ref
  return {
    issuer: world.issuers[state.clients.get(client)?.workspace ?? 0],
    client,
    user,
    nonce: signIn.nonce,
    isFirst,
    authTime: signIn.tellsTime ? Math.floor(world.startsAt / 1000) : null,
    tellsName: signIn.tellsName,
    now: Math.floor(state.now / 1000),
    sameSession: isFirst ? null : (identifiedBy ?? null)
  }
}

/**
 * An access token, with its full life or, near the end of its grant, what is left of that: the documents allow both.
 */
const withAccessToken = (
  facts: Facts,
  state: State,
  issued: Issued,
  refresh: "none" | "new" | { readonly sameAs: Ref }
): ReadonlyArray<Outcome> => {
  const { ref, grant, scope, resource, boundTo, exchanged } = issued
  const full = state.now + facts.world.accessTtl
  const end = grant.user === null || grant.asserted !== undefined ? full : endOf(grant, facts)
  const latest = exchanged?.expiresAt ?? full
  const expiries = new Set([full, Math.min(end, full)].map((at) => Math.min(at, latest)))
  const identity = issued.identifies === true ? identityOf(facts, state, issued) : null
  const workspace = state.clients.get(grant.client)?.workspace ?? 0
  return [...expiries].map((expiresAt) => {
    const key = sealingKey(state)
    const access: Access = {
      grant: grant.name,
      scope,
      resource,
      expiresAt,
      key,
      boundTo,
      isRevoked: false,
      actors: exchanged?.actors ?? []
    }
    const worth = worthOf({ _tag: "access", access, grant }, facts.world.issuers[workspace])
    const expect: Expectation = {
      _tag: "Tokens",
      scope,
      expiresIn: Math.floor((expiresAt - state.now) / 1000),
      boundTo,
      refresh,
      readable: facts.world.jwts === true ? { ...worth, issuedAt: state.now, expiresAt } : null,
      identity
    }
    const next = withAccess(state, ref, access)
    if (identity === null) return { expect, next }
    const { client, user } = identity
    return { expect, next: withIdToken(next, ref, { client, user, workspace, expiresAt }) }
  })
}

/** The grant as it stands after the step hands out its current generation's refresh token. */
export const withNewRefresh = (facts: Facts, state: State, issued: Issued): ReadonlyArray<Outcome> => {
  const { grant, ref } = issued
  const expiresAt = Math.min(grant.turnedAt + facts.world.refreshIdleTtl, endOf(grant, facts))
  const token = { grant: grant.name, generation: grant.generation, expiresAt, key: sealingKey(state) }
  return withAccessToken(facts, withRefresh(state, ref, token), issued, "new")
}

/** The honest retry gets what was handed out before, byte for byte, as long as the ring holds the key that sealed it. */
export const withSameRefresh = (facts: Facts, state: State, issued: Issued): ReadonlyArray<Outcome> => {
  const { grant, ref } = issued
  const handedOut = [...state.refresh].findLast(
    ([, token]) => token.grant === grant.name && token.generation === grant.generation && state.keys.includes(token.key)
  )
  if (handedOut === undefined) return withNewRefresh(facts, state, issued)
  const [sameAs, token] = handedOut
  return withAccessToken(facts, withRefresh(state, ref, token), issued, { sameAs })
}

export const withoutRefresh = (facts: Facts, state: State, issued: Issued): ReadonlyArray<Outcome> =>
  withAccessToken(facts, state, issued, "none")
