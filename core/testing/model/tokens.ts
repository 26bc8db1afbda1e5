import type { KeyName, Ref } from "../script/Command.ts"
import type { Expectation } from "./Expectation.ts"
import type { Facts, Outcome } from "./Rule.ts"
import { type Access, type Grant, type Scope, type State, sealingKey, withAccess, withRefresh } from "./State.ts"

interface Issued {
  readonly ref: Ref
  readonly grant: Grant
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  /** The key that was proven. */
  readonly boundTo: KeyName | null
  /** Of an exchanged one: who exchanged, and when the one ends that was shown. */
  readonly exchanged?: Pick<Access, "actors" | "expiresAt">
}

/** The last moment that anything refreshed from a grant may live. */
export const endOf = (grant: Grant, { world }: Facts): number => grant.bornAt + world.refreshMaxTtl

/**
 * An access token, with its full life or, near the end of its grant, what is left of that: the documents allow both.
 */
const withAccessToken = (
  facts: Facts,
  state: State,
  { ref, grant, scope, resource, boundTo, exchanged }: Issued,
  refresh: "none" | "new" | { readonly sameAs: Ref }
): ReadonlyArray<Outcome> => {
  const full = state.now + facts.world.accessTtl
  const end = grant.user === null ? full : endOf(grant, facts)
  const latest = exchanged?.expiresAt ?? full
  const expiries = new Set([full, Math.min(end, full)].map((at) => Math.min(at, latest)))
  return [...expiries].map((expiresAt) => {
    const expect: Expectation = {
      _tag: "Tokens",
      scope,
      expiresIn: Math.floor((expiresAt - state.now) / 1000),
      boundTo,
      refresh
    }
    const key = sealingKey(state)
    const access = {
      grant: grant.name,
      scope,
      resource,
      expiresAt,
      key,
      boundTo,
      isRevoked: false,
      actors: exchanged?.actors ?? []
    }
    return { expect, next: withAccess(state, ref, access) }
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
