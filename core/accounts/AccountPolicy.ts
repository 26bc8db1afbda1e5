import type { Millis } from "../rules/Instant.ts"

/** What an installation decides about its accounts. */
export interface AccountPolicy {
  /** From sign-in to sign-in, however busy the session is. */
  readonly sessionTtl: Millis
  readonly invitationTtl: Millis
  readonly setUpTtl: Millis
  /** The shortest password, in characters; NIST SP 800-63B §3.1.1.2 asks for eight or more and no rules of composition. */
  readonly passwordLength: number
}

const hour = 60 * 60 * 1000
const day = 24 * hour

export const standardAccountPolicy: AccountPolicy = {
  sessionTtl: 14 * day,
  invitationTtl: 7 * day,
  setUpTtl: day,
  passwordLength: 10
}
