import type { AuthenticatedClient } from "../client/authenticate.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Resources } from "../rules/Resource.ts"
import type { ScopeName } from "../rules/Scope.ts"
import type { Binding } from "./Binding.ts"
import type { MarkSender } from "./Sender.ts"

/** Bytes drawn before a decision, used or not, so that the decision stays a function. */
export interface Fresh {
  /** 64 bits in hex. */
  readonly serial: string
  /** The key that seals now. */
  readonly key: string
}

/** All that a decision about tokens may look at. A feature that cuts across all grants is a field here. */
export interface Step<Form> {
  readonly by: AuthenticatedClient
  readonly form: Form
  /** RFC 8707: those that the form asks for, all of them the workspace's; `null` where it asks for none. */
  readonly resources: Resources | null
  /** The scopes that these take; `null` where they take all. */
  readonly taken: ReadonlyArray<ScopeName> | null
  /** What the client proved to hold: the tokens are bound to it. */
  readonly binding: Binding | null
  /** By which a retry is held against the request that it repeats. */
  readonly markSender: MarkSender
  readonly policy: Policy
  readonly now: Instant
  readonly fresh: Fresh
}

/** What issuing needs of a step. */
export type Issuing = Omit<Step<unknown>, "form" | "resources" | "taken">
