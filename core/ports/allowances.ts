import type { Allowance } from "./Limiter.ts"

const second = 1000
const perMinute = (count: number) => (60 * second) / count
const perHour = (count: number) => (60 * 60 * second) / count

/**
 * What each caller may do before being asked to wait. Generous: they stop floods and loops, not people. Callers that
 * have shown who they are have a share of their own; an address has one only where nobody is known yet, and a large
 * one, since hosted products send many people through few addresses.
 */
export const allowances = {
  /** Requests of a client that has authenticated, those about its own registration included. */
  client: { name: "client", burst: 1200, refill: perMinute(1200) },
  /** Refreshes of one grant. */
  grant: { name: "grant", burst: 60, refill: perMinute(60) },
  /** Failed client authentications from one address. */
  failedClient: { name: "failed_client", burst: 300, refill: perMinute(300) },
  /** Authorization requests and answers of one signed-in account. */
  account: { name: "account", burst: 120, refill: perMinute(120) },
  /** Authorization requests from one address. */
  authorize: { name: "authorize", burst: 3000, refill: perMinute(3000) },
  /** Sign-ins from one address, the right ones too. What slows down guessing is `accounts/SignInThrottle.ts`. */
  signIn: { name: "sign_in", burst: 600, refill: perMinute(600) },
  /** Registrations from one address. */
  register: { name: "register", burst: 500, refill: perHour(5000) }
} as const satisfies Record<string, Allowance>
