import { Effect } from "effect"
import { isKnown } from "../client/Client.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId } from "../rules/Id.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { Clients } from "./Clients.ts"
import { note, type OwnersOccasion } from "./Occasion.ts"

/** Nobody can connect a disabled client, and none of its tokens is accepted, until it is enabled again. */
export const switchClient = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly clients: Clients },
  occasion: OwnersOccasion,
  id: ClientId,
  change: "disabled" | "enabled"
): Effect.fn.Return<"done" | "was_so" | "unknown", StorageUnavailable | Contended> {
  const now = yield* currentInstant
  const disabled = change === "disabled"
  // As the last look at what is stored found it.
  const found = { switches: false }
  const client = yield* parts.clients.change(occasion.workspace, id, (stored) => {
    found.switches = isKnown(stored, now) && stored.disabled !== disabled
    return found.switches ? { ...stored, disabled } : stored
  })
  if (client === undefined || !isKnown(client, now)) return "unknown"
  if (!found.switches) return "was_so"
  yield* note(parts.audit, occasion, { _tag: "ClientChanged", client: id, change, by: occasion.by })
  return "done"
})
