import type { Policy } from "../rules/Policy.ts"
import { type Client, isPublic } from "./Client.ts"

/**
 * What a client is held to beyond what the protocol asks of all: a rule is a column, a profile is a row. Whoever checks
 * a rule reads its column and never a profile's name.
 */
export interface Profile {
  readonly name: string
  /** RFC 7636 §4.3: whether an authorization request has to bring a code challenge. */
  readonly needsChallenge: (client: Client, policy: Policy) => boolean
}

const standard: Profile = {
  name: "standard",
  // RFC 9700 §2.1.1: a client that cannot prove itself otherwise always does.
  needsChallenge: (client, policy) => policy.requirePkce || isPublic(client)
}

/** The profile of every client, until a client can register for a stricter one. */
export const profileOf = (_client: Client): Profile => standard
