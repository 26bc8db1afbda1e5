import { Schema } from "effect"
import { ScopeRegistry, standardScopes } from "./Scope.ts"

const Millis = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What a server decides for itself where the protocol leaves a choice; times in milliseconds. */
export const Policy = Schema.Struct({
  codeTtl: Millis,
  accessTtl: Millis,
  /** How long a refresh token lives unused … */
  refreshIdleTtl: Millis,
  /** … and how long a grant can be refreshed in all. */
  refreshMaxTtl: Millis,
  /** How long a spent refresh token still gets the same successor; 0 means it never does. */
  refreshGrace: Millis,
  /** How long a person may take over the consent page. */
  consentTtl: Millis,
  /** After this long a client that never completed a flow is forgotten. */
  unusedClientTtl: Millis,
  /** How long another process may go on with a client, or a client's own grant, that was changed or deleted here. */
  clientStaleness: Millis,
  /** Asked of confidential clients too, where it is only recommended. */
  requirePkce: Schema.Boolean,
  /** Which clients may act for the workspace itself: all that registered for it, or those that an owner answers for. */
  workspaceAccess: Schema.Literals(["registered", "owner"]),
  scopes: ScopeRegistry
})
export type Policy = typeof Policy.Type

const second = 1000
const day = 24 * 60 * 60 * second

export const standardPolicy: Policy = {
  codeTtl: 60 * second,
  accessTtl: 60 * 60 * second,
  refreshIdleTtl: 30 * day,
  refreshMaxTtl: 180 * day,
  refreshGrace: 60 * second,
  consentTtl: 15 * 60 * second,
  unusedClientTtl: 30 * day,
  clientStaleness: 5 * second,
  requirePkce: false,
  workspaceAccess: "registered",
  scopes: standardScopes
}
