import type { Instant } from "../rules/Instant.ts"
import type { Notice } from "./Notice.ts"

/** Who looks at a page of settings, and what their forms need. */
export interface Visitor {
  /** `SignedIn.label` */
  readonly account: string
  readonly role: "owner" | "member"
  /** Bound to the session; every form of the page carries it. */
  readonly csrf: string
  readonly now: Instant
  /** The accounts are the host's own: there is no profile, no list of members and no sign-out of ours to lead to. */
  readonly accountsElsewhere?: boolean
  /** What the form that led here did. */
  readonly notice?: Notice
}
