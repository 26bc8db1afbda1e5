import type { SignedIn } from "../ports/ResourceOwner.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { TicketBinding } from "../token/Ticket.ts"
import type { AuthorizationRequest } from "./authorizationRequest.ts"

/**
 * What a consent page's ticket holds for: this person, this request, and what the page said of it. A client can change
 * itself (RFC 7592) while the page is read, so the same request may have come to ask for more by the time of the answer.
 */
export const ticketBinding = (
  { session, user }: SignedIn,
  query: string,
  { client, scope }: AuthorizationRequest
): TicketBinding => ({
  session,
  user,
  request: JSON.stringify([query, formatScopes(scope), client.about.client_name ?? null, client.madeBy])
})
