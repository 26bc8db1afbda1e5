import { hasPassed, type Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Active, Grant, Pending } from "./Grant.ts"

/** What connects an application with a person. */
export type Connected = Pending | Active

/** Whether anything that it issued, or may yet, could open a door. */
export const isConnected = (grant: Grant, policy: Policy, now: Instant): grant is Connected => {
  switch (grant._tag) {
    case "Pending":
      return !hasPassed(grant.codeExpiresAt, now)
    case "Active":
      return !hasPassed(later(grant.refresh.expiresAt, policy.accessTtl), now)
    default:
      return false
  }
}
