import { hasPassed, type Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { type Active, endOf, type Grant, type Pending } from "./Grant.ts"

/** What connects an application with a person. */
export type Connected = Pending | Active

/** Whether anything that it issued, or may yet, could open a door. */
export const isConnected = (grant: Grant, policy: Policy, now: Instant): grant is Connected => {
  if (grant._tag !== "Pending" && grant._tag !== "Active") return false
  const end = endOf(grant, policy.accessTtl)
  return end === null || !hasPassed(end, now)
}
