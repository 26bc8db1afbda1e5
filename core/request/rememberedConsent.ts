import type { Client } from "../client/Client.ts"
import { hasGrant, isStranger } from "../client/Client.ts"
import type { Connected, Consent } from "../grant/Grant.ts"
import { day, hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Prompts } from "../rules/Prompt.ts"
import type { RedirectTarget } from "../rules/RedirectUri.ts"
import { withinResources } from "../rules/Resource.ts"
import { reaches, type ScopeRegistry } from "../rules/Scope.ts"
import { digestOf } from "../rules/Secret.ts"
import { isLoopbackHost } from "../workspace/Workspace.ts"
import { type AnswerPlace, shownOf } from "./AuthorizationRequest.ts"
import type { CheckedRequest } from "./readRequest.ts"

/** RFC 8252 §8.6: any program of a device may wait at a loopback port or a scheme of its own, so there a person decides. */
const isClaimed = (target: RedirectTarget): boolean => {
  const { hostname, protocol } = new URL(target)
  return protocol === "https:" && !isLoopbackHost(hostname)
}

/** What the person saw of a client. Whatever of it changes, such as where it returns to, they are asked again. */
const consentDigest = (client: Client, target: RedirectTarget) => {
  const { digest, madeBy, name, pages } = shownOf(client)
  const more = digest ?? pages
  return digestOf(JSON.stringify([target, name, madeBy, ...(more === undefined ? [] : [more])]))
}

/** A person's yes on a page, as its grant keeps it where it may count again. */
export const consentGiven = (
  { consent }: Policy,
  client: Client,
  to: AnswerPlace,
  now: Instant
): Consent | undefined =>
  consent === "remember" && to._tag === "Redirect" && isClaimed(to.target)
    ? { at: now, shown: consentDigest(client, to.target) }
    : undefined

/** An owner made it, or let it act for the workspace. */
const isVouchedFor = ({ madeBy, workspaceAccess }: Client): boolean =>
  madeBy === "owner" || workspaceAccess?.answer?.approved === true

/** So long a person's yes counts for a client that registered itself, and that no owner answers for. */
const unvouched: Millis = 30 * day

/** Whether a yes of then counts for this client still. */
export const stillCounts = ({ at }: Consent, client: Client, now: Instant): boolean =>
  !isStranger(client) && (isVouchedFor(client) || !hasPassed(later(at, unvouched), now))

/** OpenID Connect Core §3.1.2.1: a client may ask for the page, and one that asks for a sign-in wants the person there. */
const asksAnyway = (prompt: Prompts): boolean => prompt.includes("consent") || prompt.includes("login")

/**
 * RFC 9700 §4.13.1 asks for care with requests that no person sees. What the person said of this very client, redirect
 * URI, place and resources, and at least these scopes: by a grant that they have not ended, and that its client redeemed.
 */
export const rememberedConsent = (
  grants: ReadonlyArray<Connected>,
  { client, prompt = [], resources, scope, to }: CheckedRequest,
  { consent: rule }: Policy,
  registry: ScopeRegistry,
  now: Instant
): Consent | undefined => {
  if (rule !== "remember" || asksAnyway(prompt) || to._tag !== "Redirect" || !isClaimed(to.target)) return undefined
  const shown = consentDigest(client, to.target)
  let latest: Consent | undefined
  for (const grant of grants) {
    if (grant._tag !== "Active" || grant.consent?.shown !== shown || !hasGrant(client, grant)) continue
    if (!withinResources(resources, grant.resources) || !reaches(registry, grant.scope, scope)) continue
    if (!stillCounts(grant.consent, client, now)) continue
    if (latest === undefined || grant.consent.at > latest.at) latest = grant.consent
  }
  return latest
}
