import type { Instant } from "../rules/Instant.ts"
import { later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { isWithin } from "../rules/Scope.ts"
import { type Client, type ClientMaker, mayUse, type WorkspaceAccess } from "./Client.ts"
import type { RegistrableGrantType } from "./RegistrableGrantType.ts"

/** Whether a client may act for the workspace itself, if it registered for it; or why not. */
export type WorkspaceStanding = "allowed" | "waiting" | "refused" | "owners_only"

type Rules = Pick<Policy, "workspaceAccess">
type Answered = Pick<Client, "madeBy" | "workspaceAccess">

export const workspaceStanding = (client: Answered, policy: Rules): WorkspaceStanding => {
  if (client.madeBy === "owner" || policy.workspaceAccess === "registered") return "allowed"
  if (policy.workspaceAccess === "owner") return "owners_only"
  const answer = client.workspaceAccess?.answer ?? null
  if (answer === null) return "waiting"
  return answer.approved ? "allowed" : "refused"
}

/** Whether a client of this maker may register for it. Under `approved` all may: what they get is for an owner to say. */
export const mayRegisterForWorkspace = (madeBy: ClientMaker, policy: Rules): boolean =>
  madeBy === "owner" || policy.workspaceAccess !== "owner"

/** A grant type by which a client acts for the workspace itself. */
export const actsForWorkspace = ({ registers }: RegistrableGrantType): boolean => registers.needs.includes("owner")

/** Whether it registered for such a grant type. */
export const asksForWorkspace = (client: Client, grantTypes: Iterable<RegistrableGrantType>): boolean => {
  for (const row of grantTypes) if (actsForWorkspace(row) && mayUse(client, row.name)) return true
  return false
}

/** The question as an owner finds it; of a client that is older than the question, from when it registered. */
export const questionOf = (client: Client): WorkspaceAccess =>
  client.workspaceAccess ?? { askedAt: client.createdAt, network: null, answer: null }

/**
 * An owner's answer holds for what the owner looked at: under another name, with another address, or with more to be
 * granted, the client asks anew.
 */
const isStillAnswered = (before: Client, after: Client): boolean =>
  before.about.client_name === after.about.client_name &&
  before.about.client_uri === after.about.client_uri &&
  isWithin(after.redirectUris, before.redirectUris) &&
  isWithin(after.grantTypes, before.grantTypes) &&
  isWithin(after.scope, before.scope)

/** When a registration came, and from which network, as far as the runtime knew it. */
export interface Asked {
  readonly at: Instant
  readonly network: string | null
}

/** A client with the question that its registration asks, if it does. `before`: the client whose registration it replaces. */
export const asking = (
  client: Client,
  grantTypes: Iterable<RegistrableGrantType>,
  asked: Asked,
  before?: Client
): Client => {
  const { workspaceAccess, ...rest } = client
  if (client.madeBy === "owner" || !asksForWorkspace(client, grantTypes)) return rest
  if (workspaceAccess !== undefined && before !== undefined && isStillAnswered(before, client)) return client
  return { ...rest, workspaceAccess: { askedAt: asked.at, network: asked.network, answer: null } }
}

/** What an owner says to it. An approved client has an owner who answers for it, so it is not forgotten for lack of use. */
export const answered = (
  client: Client,
  { approved, at, by }: { readonly approved: boolean; readonly by: string; readonly at: Instant },
  { unusedClientTtl }: Policy
): Client => ({
  ...client,
  workspaceAccess: { ...questionOf(client), answer: { approved, by, at } },
  expiresAt: approved || client.provenAt !== null ? null : (client.expiresAt ?? later(at, unusedClientTtl))
})
