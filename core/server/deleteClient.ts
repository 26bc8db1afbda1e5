import { Effect } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId } from "../rules/Id.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"

/** The end of a client, whoever wants it: the client itself (RFC 7592 §2.3), an owner, the command line. */
export const deleteClient = Effect.fnUntraced(function* (
  parts: { readonly clients: Clients; readonly grants: Grants },
  workspace: WorkspaceId,
  id: ClientId
): Effect.fn.Return<"deleted" | "unknown", StorageUnavailable> {
  const client = yield* parts.clients.find(workspace, id)
  if (client === undefined) return "unknown"
  // The client first: without it nothing that its grants issued is accepted, even if the rest does not come about.
  yield* parts.clients.remove(workspace, id)
  yield* parts.grants.removeGrant(workspace, client.workspaceGrant)
  return "deleted"
})
