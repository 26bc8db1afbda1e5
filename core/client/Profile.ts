import { Schema } from "effect"
import type { Policy } from "../rules/Policy.ts"
import { type Client, isPublic } from "./Client.ts"
import { clientMember } from "./ClientMember.ts"

/**
 * What a client is held to beyond what the protocol asks of all: a rule is a column, a profile is a row. Whoever checks
 * a rule reads its column and never a profile's name.
 */
export interface Profile {
  readonly name: string
  /** RFC 7636 §4.3: whether an authorization request has to bring a code challenge. */
  readonly needsChallenge: (client: Client, policy: Policy) => boolean
  /** RFC 9126 §5 and §6: whether an authorization request has to be pushed. */
  readonly needsPush: (client: Client, policy: Policy) => boolean
}

/** RFC 9126 §6. */
export const requirePushedRequests = clientMember({
  name: "require_pushed_authorization_requests",
  schema: Schema.Boolean.annotate({
    description: "RFC 9126: whether the client's authorization requests count only where it pushed them."
  })
})

const standard: Profile = {
  name: "standard",
  // RFC 9700 §2.1.1: a client that cannot prove itself otherwise always does.
  needsChallenge: (client, policy) => policy.requirePkce || isPublic(client),
  needsPush: (client, policy) => policy.requirePush || requirePushedRequests.of(client) === true
}

/** The profile of every client, until a client can register for a stricter one. */
export const profileOf = (_client: Client): Profile => standard
