import { Client } from "../client/Client.ts"
import { Grant, ownerOf, recordExpiry } from "../grant/Grant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { RecordKind } from "./Records.ts"

/** Clients all stand in one list, the workspace's. */
export const clientOwner = "workspace"

export const clientKind: RecordKind<Client> = {
  kind: "client",
  schema: Client,
  version: 1,
  upcast: [],
  id: (client) => client.id,
  owner: () => clientOwner,
  expiresAt: (client) => client.expiresAt
}

export const grantKind = (policy: Policy): RecordKind<Grant> => ({
  kind: "grant",
  schema: Grant,
  version: 1,
  upcast: [],
  id: (grant) => grant.id,
  owner: ownerOf,
  expiresAt: (grant) => recordExpiry(grant, policy.accessTtl)
})
