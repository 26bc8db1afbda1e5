import { Effect } from "effect"
import { isKnown } from "../client/Client.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { type ClientId, grantMark } from "../rules/Id.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { byOf, note, type Occasion } from "./Occasion.ts"
import { tidyUp } from "./tidyUp.ts"

/** The end of a client, whoever wants it: the client itself (RFC 7592 §2.3), an owner, the command line. */
export const deleteClient = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly clients: Clients; readonly grants: Grants },
  occasion: Occasion,
  id: ClientId
): Effect.fn.Return<"deleted" | "unknown", StorageUnavailable> {
  const { workspace } = occasion
  // As it is stored: another process may have deleted it a moment ago, and noted that.
  const client = yield* parts.clients.findStored(workspace, id)
  if (client === undefined || !isKnown(client, yield* currentInstant)) return "unknown"
  // The client first: without it nothing that its grants issued is accepted, even if the rest does not come about.
  yield* parts.clients.remove(workspace, id)
  yield* note(parts.audit, occasion, { _tag: "ClientDeleted", client: id, ...byOf(occasion) })
  const { workspaceGrant } = client
  yield* tidyUp(
    workspace,
    parts.grants.removeGrant(workspace, workspaceGrant),
    "the own grant of a deleted client could not be removed with it, and opens nothing",
    { client: id, grant: grantMark(workspaceGrant) }
  )
  return "deleted"
})
