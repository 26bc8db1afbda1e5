import { Effect } from "effect"
import { makeRecords } from "../engine/Records.ts"
import type { WriteFault } from "../engine/transact.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Storage } from "../ports/Storage.ts"
import { type Instant, later, type Millis, minute } from "../rules/Instant.ts"
import { TooManyRequests } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import {
  type Failures,
  FailureTable,
  failuresKind,
  forgottenAfter,
  freeFailures,
  latest,
  type Rule,
  shareFailures,
  toTell
} from "./SignInFailures.ts"

/** An attempt to sign in. Keys only: a digest of the email, a network, the name of a browser. */
export interface Attempt {
  readonly workspace: WorkspaceId
  readonly login: string
  /** Absent if the runtime does not know the peer. */
  readonly network: string | undefined
  /** A browser in which this login signed in before. */
  readonly device: string | undefined
}

const longestWait = 5 * minute

const isForgotten = ({ last }: Failures, now: Instant): boolean => last + forgottenAfter <= now

/** After the free failures the wait doubles from one second up to the longest. */
const steepness = (count: number): Millis =>
  count < freeFailures ? 0 : Math.min(longestWait, 1000 * 2 ** (count - freeFailures))

/** One login from one network or known browser: a typing mistake costs nothing, guessing waits. */
const slope = (name: string): Rule => ({
  name,
  left: (failures, now) => (isForgotten(failures, now) ? 0 : failures.count),
  wait: (failures, now) =>
    isForgotten(failures, now) ? 0 : Math.max(0, failures.last + steepness(failures.count) - now),
  most: Number.POSITIVE_INFINITY,
  worthTelling: 1,
  // One that another process should have kept waiting counts from when it would have been let in.
  joined: (told, last) => latest(last, later(told.last, steepness(told.count)))
})

/** A token bucket of failures: `burst` at once, one more for each `refill`. */
const share = (name: string, burst: number, refill: Millis, most = Number.POSITIVE_INFINITY): Rule => {
  const left: Rule["left"] = (failures, now) =>
    isForgotten(failures, now) ? 0 : Math.max(0, failures.count - Math.max(0, now - failures.last) / refill)
  return {
    name,
    left,
    wait: (failures, now) => Math.max(0, Math.ceil((left(failures, now) + 1 - burst) * refill)),
    most,
    worthTelling: burst / 4,
    joined: (_, last, now) => latest(last, now)
  }
}

/** The /48 of an IPv6 network; an IPv4 address is its own region. Records lie under this text, which is not the limiter's. */
const regionKey = (network: string): string => network.replace(/^([^:]*:[^:]*:[^:]*):.*$/, "$1")

const refused = (limit: string, wait: Millis): TooManyRequests =>
  new TooManyRequests({ limit, retryAfterSeconds: Math.ceil(wait / 1000) })

const loginBurst = 60

/**
 * Slows down password guessing without locking an owner out; README.md has the table of limits.
 * An attempt counts as failed from its start, so that parallel attempts gain nothing.
 */
export class SignInThrottle {
  readonly #toTell = toTell()
  readonly #devices = new FailureTable(slope("sign_in_device"), this.#toTell)
  readonly #pairs = new FailureTable(slope("sign_in_pair"), this.#toTell)
  /** One network at all logins: an office behind one address signs in at the same hour. */
  readonly #networks = new FailureTable(share("sign_in_network", 200, 6_000), this.#toTell)
  /** All networks of one IPv6 /48 at all logins: one customer has 65,536 of them to guess from. */
  readonly #around = new FailureTable(share("sign_in_network_region", 800, 1_500), this.#toTell)
  /** One login from all networks. First tries of new networks put its next one off by nothing. */
  readonly #logins = new FailureTable(share("sign_in_login", loginBurst, minute, loginBurst), this.#toTell)
  /** A login whose share is spent, from one IPv6 /48: one customer has 65,536 networks. */
  readonly #regions = new FailureTable(share("sign_in_first_try", 8, 60 * minute), this.#toTell)

  /** Counts the attempt, or says how long it has to wait. */
  begin(attempt: Attempt, now: Instant): TooManyRequests | undefined {
    const { workspace, login, network, device } = attempt
    if (device !== undefined) return this.#climb(this.#devices, "sign_in_device", attempt, now)

    const loginWait = this.#logins.wait(workspace, login, now)
    const isFirst = network !== undefined && this.#pairs.count(workspace, `${login} ${network}`, now) === 0
    if (loginWait > 0 && !(isFirst && this.#isWelcome(workspace, `${login} ${regionKey(network)}`, now))) {
      return refused("sign_in_login", loginWait)
    }
    if (network !== undefined) {
      const networkWait = this.#networks.wait(workspace, network, now)
      if (networkWait > 0) return refused("sign_in_network", networkWait)
      const regionWait = this.#around.wait(workspace, regionKey(network), now)
      if (regionWait > 0) return refused("sign_in_network_region", regionWait)
      const steep = this.#climb(this.#pairs, "sign_in_pair", attempt, now)
      if (steep !== undefined) return steep
      for (const [shared, of] of this.#placesOf(network)) shared.begin(workspace, of, now)
    }
    this.#logins.begin(workspace, login, now)
    return undefined
  }

  /** The password was right: the attempt no longer counts, and the slope starts again. */
  succeed(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    table.clear(attempt.workspace, key, now)
    for (const [shared, of] of this.#sharesOf(attempt)) shared.undo(attempt.workspace, of)
  }

  /** The password was wrong. */
  fail(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    table.fail(attempt.workspace, key, now)
    for (const [shared, of] of this.#sharesOf(attempt)) shared.fail(attempt.workspace, of, now)
  }

  /** The attempt failed for a reason of the server: it no longer counts. */
  abandon(attempt: Attempt): void {
    const [table, key] = this.#slopeOf(attempt)
    table.undo(attempt.workspace, key)
    for (const [shared, of] of this.#sharesOf(attempt)) shared.undo(attempt.workspace, of)
  }

  /** The server had no time for the attempt: it counts for its network only, which may be why. */
  turnAway(attempt: Attempt, now: Instant): void {
    const { workspace, login, network, device } = attempt
    const [table, key] = this.#slopeOf(attempt)
    table.undo(workspace, key)
    if (device !== undefined) return
    for (const [shared, of] of this.#placesOf(network)) shared.fail(workspace, of, now)
    this.#logins.undo(workspace, login)
  }

  /** Tells the other processes over a store what failed here, and hears what failed there. */
  sharing(storage: Storage["Service"], entropy: Entropy["Service"]): Sharing {
    const records = makeRecords(storage, failuresKind)
    return Effect.suspend(() => shareFailures(this.#toTell, records, entropy))
  }

  #slopeOf({ login, network, device }: Attempt): readonly [FailureTable, string] {
    return device === undefined ? [this.#pairs, `${login} ${network}`] : [this.#devices, `${login} ${device}`]
  }

  #sharesOf({ login, network, device }: Attempt): ReadonlyArray<readonly [FailureTable, string]> {
    return device === undefined ? [...this.#placesOf(network), [this.#logins, login]] : []
  }

  /** The shares of where an attempt comes from. */
  #placesOf(network: string | undefined): ReadonlyArray<readonly [FailureTable, string]> {
    if (network === undefined) return []
    const region = regionKey(network)
    const own = [this.#networks, network] as const
    return region === network ? [own] : [own, [this.#around, region]]
  }

  /** Takes a first try of a network whose login has spent its share from the share of the region. */
  #isWelcome(workspace: WorkspaceId, region: string, now: Instant): boolean {
    if (this.#regions.wait(workspace, region, now) > 0) return false
    this.#regions.begin(workspace, region, now)
    this.#regions.fail(workspace, region, now)
    return true
  }

  #climb(table: FailureTable, limit: string, attempt: Attempt, now: Instant): TooManyRequests | undefined {
    const [, key] = this.#slopeOf(attempt)
    const wait = table.wait(attempt.workspace, key, now)
    if (wait > 0) {
      table.ask(attempt.workspace, key)
      return refused(limit, wait)
    }
    table.begin(attempt.workspace, key, now)
    return undefined
  }
}

/** To be run every second or so. */
export type Sharing = Effect.Effect<number, WriteFault>
