import type { SignedIn } from "../ports/ResourceOwner.ts"
import { formatScopes } from "../rules/Scope.ts"
import type { TicketBinding } from "../token/Ticket.ts"
import type { AuthorizationRequest } from "./authorizationRequest.ts"

/** What a consent page's ticket opens for: this person in this session, and this request as it was sent. */
export const ticketBinding = ({ session, user }: SignedIn, query: string): TicketBinding => ({
  session,
  user,
  request: query
})

/**
 * What the page said of the request. A client can change itself (RFC 7592) while the page is read, so the same request
 * may have come to ask for more by the time of the answer.
 */
export const shownTerms = ({ client, scope }: AuthorizationRequest): string =>
  JSON.stringify([formatScopes(scope), client.about.client_name ?? null, client.madeBy])
