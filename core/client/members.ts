import type { ClientMember } from "./ClientMember.ts"
import { openIdMembers } from "./openIdMembers.ts"
import {
  dpopBoundAccessTokens,
  requestObjectAlgorithm,
  requirePushedRequests,
  requireSignedRequests,
  securityProfile
} from "./Profile.ts"

/** The members of a registration that features add: a feature's row is a line here. */
export const clientMembers: ReadonlyArray<ClientMember> = [
  securityProfile,
  requirePushedRequests,
  dpopBoundAccessTokens,
  requireSignedRequests,
  requestObjectAlgorithm,
  ...openIdMembers
]
