import { Effect } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import type { AuthenticatedClient } from "../client/authenticate.ts"
import { liveSecrets } from "../client/ClientSecret.ts"
import type { Audit } from "../ports/Audit.ts"
import { type Instant, type Millis, minute } from "../rules/Instant.ts"
import type { Workspace } from "../workspace/Workspace.ts"

/** The request that a client authenticated with. */
interface Call {
  readonly workspace: Pick<Workspace, "id">
  readonly endpoint: string
  readonly now: Instant
  readonly requestId: string
}

/** Tells the audit of a client that showed the older of its two secrets, whatever becomes of the request. */
export type OlderSecrets = (call: Call, by: AuthenticatedClient) => Effect.Effect<void>

/** Told at most this often of one secret. */
const granularity: Millis = minute

export const makeOlderSecrets = (audit: Audit["Service"]): OlderSecrets => {
  const told = new LruMap<string, { readonly at: Instant }>(10_000)
  return ({ endpoint, now, requestId, workspace }, { client, shown }) => {
    const [, older] = liveSecrets(client, now)
    if (older === undefined || older.mark !== shown) return Effect.void
    const name = `${workspace.id} ${client.id} ${shown}`
    const before = told.get(name)
    if (before !== undefined && Math.abs(now - before.at) < granularity) return Effect.void
    told.set(name, { at: now })
    const event = { _tag: "OlderSecretUsed", client: client.id, endpoint, secret: shown } as const
    return audit.record({ at: now, workspace: workspace.id, requestId, event })
  }
}
