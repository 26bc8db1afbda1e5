import type { ClientId } from "../rules/Id.ts"
import { clocksMayDiffer, hasPassed, type Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Digest } from "../rules/Secret.ts"
import type { AccessToken, RefreshToken } from "../token/Token.ts"
import { answer, answerAndKeep, type Decision } from "./Decision.ts"
import {
  type AccessTokens,
  type Active,
  endOf,
  type Grant,
  placeOf,
  type Revoked,
  type Standing,
  sidIn
} from "./Grant.ts"

/** More than this many single revocations at once, and all access tokens of the grant go. */
export const revokedSerialsKept = 64

const isClientsOwn = (grant: Grant): boolean => grant._tag === "Standing" && grant.subject._tag === "Workspace"

const sidKept = (grant: Grant): { readonly sid?: Digest } => {
  const sid = sidIn(grant)
  return sid === undefined ? {} : { sid }
}

/** The end of a grant and of everything that it ever issued. A grant dies once: the first reason stays. */
export const revoked = (grant: Grant, why: Revoked["why"], policy: Policy, now: Instant): Revoked =>
  grant._tag === "Revoked"
    ? grant
    : {
        _tag: "Revoked",
        id: grant.id,
        client: grant._tag === "Key" ? null : grant.client,
        subject: grant.subject,
        scope: grant.scope,
        resources: grant.resources,
        ...("place" in grant ? placeOf(grant) : {}),
        createdAt: grant.createdAt,
        revokedAt: now,
        why,
        // A client's own grant has one id for ever, so that it is not to be had again is kept as long.
        endsAt: isClientsOwn(grant) ? null : endOf(grant, policy.accessTtl),
        ...sidKept(grant),
        ...(grant._tag === "Standing" && !isClientsOwn(grant) ? { epoch: grant.access.epoch } : {})
      }

/** Who ends a grant from outside the protocol: the person, or an owner of the workspace. */
export const revokeGrant = (
  grant: Grant,
  why: "by_user" | "by_owner",
  policy: Policy,
  now: Instant
): Decision<"revoked" | "was_revoked", never> =>
  grant._tag === "Revoked" ? answer("was_revoked") : answerAndKeep(revoked(grant, why, policy, now), "revoked")

const without = (access: AccessTokens, token: AccessToken, now: Instant): AccessTokens => {
  // A revoked token is still told after its end: this clock may be ahead of the one that asks next.
  const live = access.revoked.filter((one) => !hasPassed(later(one.expiresAt, clocksMayDiffer), now))
  return live.length >= revokedSerialsKept
    ? { epoch: access.epoch + 1, revoked: [] }
    : { epoch: access.epoch, revoked: [...live, { serial: token.serial, expiresAt: token.expiresAt }] }
}

/** A token that was revoked by itself, or one that came of such a token by an exchange. */
export const isDead = (access: AccessTokens, { actors, epoch, serial }: AccessToken): boolean =>
  epoch !== access.epoch ||
  access.revoked.some((one) => one.serial === serial || actors?.some(({ showed }) => one.serial === showed) === true)

/** The client that a token was issued to: of an exchanged one, the last that exchanged. */
export const holderOf = (grant: { readonly client: ClientId }, token: AccessToken | RefreshToken): ClientId =>
  (token.kind === "access" ? token.actors?.[0]?.client : undefined) ?? grant.client

/**
 * RFC 7009 §2.1: a refresh token takes its grant along, an access token goes with what came of it by exchange. A token
 * of another client is left as it is, and not told.
 */
export const revokeToken = (
  grant: Grant,
  client: ClientId,
  token: AccessToken | RefreshToken,
  policy: Policy,
  now: Instant
): Decision<"revoked" | "left_alone", never> => {
  if (grant._tag !== "Active" && grant._tag !== "Standing") return answer("left_alone")
  if (holderOf(grant, token) !== client) return answer("left_alone")
  if (token.kind === "refresh") return answerAndKeep(revoked(grant, "by_client", policy, now), "revoked")
  if (isDead(grant.access, token)) return answer("left_alone")
  const next: Active | Standing = { ...grant, access: without(grant.access, token, now) }
  return answerAndKeep(next, "revoked")
}
