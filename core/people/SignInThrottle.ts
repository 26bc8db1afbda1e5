import { Option } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import { TooManyRequests } from "../rules/Refusal.ts"

/** An attempt to sign in. Keys only: a digest of the email, a network, the name of a browser. */
export interface Attempt {
  readonly login: string
  /** Absent if the runtime does not know the peer. */
  readonly network: string | undefined
  /** A browser in which this login signed in before. */
  readonly device: string | undefined
}

/** Attempts that failed or are still under way. */
interface Failures {
  readonly count: number
  readonly last: Instant
}

/** How failures delay the next attempt. */
interface Slope {
  /** This many failures without a wait. */
  readonly free: number
  /** After them the wait doubles from one second up to this. */
  readonly longest: Millis
}

/** A token bucket of failures: `burst` at once, one more for each `refill`. */
interface Share {
  readonly burst: number
  readonly refill: Millis
}

const minute = 60_000

/** One login from one network or known browser: a typing mistake costs nothing, guessing waits. */
const slope: Slope = { free: 5, longest: 5 * minute }
/** One network at all logins: an office behind one address signs in at the same hour. */
const networkShare: Share = { burst: 200, refill: 6_000 }
/** One login from all networks. */
const loginShare: Share = { burst: 60, refill: minute }
/** A login whose share is spent, from one IPv6 /48: one customer has 65,536 networks. */
const regionShare: Share = { burst: 8, refill: 60 * minute }
/** A row expires this long after its last failure. */
const forgottenAfter = 24 * 60 * minute

/** The /48 of an IPv6 network; an IPv4 address is its own region. */
const regionOf = (network: string): string => network.replace(/^([^:]*:[^:]*:[^:]*):.*$/, "$1")

/** The bound of each of the five tables: they keep between one and two times this many rows. */
const rows = 50_000

const waitAfter = ({ count, last }: Failures, now: Instant): Millis =>
  count < slope.free ? 0 : Math.max(0, last + Math.min(slope.longest, 1000 * 2 ** (count - slope.free)) - now)

class Table {
  readonly #rows = new LruMap<string, Failures>(2 * rows)

  get(key: string, now: Instant): Failures {
    const found = this.#rows.get(key)
    if (found === undefined || found.last + forgottenAfter <= now) return { count: 0, last: now }
    if (found.last <= now) return found
    // A clock that was set back must not delay every wait until it has caught up.
    const rebased = { ...found, last: now }
    this.set(key, rebased)
    return rebased
  }

  set(key: string, failures: Failures): void {
    if (failures.count <= 0) this.#rows.delete(key)
    else this.#rows.set(key, failures)
  }
}

/** The failures of a share that still count. */
const forgiven = ({ count, last }: Failures, share: Share, now: Instant): number =>
  Math.max(0, count - (now - last) / share.refill)

const shareWait = (failures: Failures, share: Share, now: Instant): Millis =>
  Math.max(0, Math.ceil((forgiven(failures, share, now) + 1 - share.burst) * share.refill))

const refused = (limit: string, wait: Millis): TooManyRequests =>
  new TooManyRequests({ limit, retryAfterSeconds: Math.ceil(wait / 1000) })

/**
 * Slows down password guessing without locking an owner out; README.md has the table of limits.
 * An attempt counts as failed from its start, so that parallel attempts gain nothing.
 */
export class SignInThrottle {
  readonly #devices = new Table()
  readonly #pairs = new Table()
  readonly #networks = new Table()
  readonly #logins = new Table()
  readonly #regions = new Table()

  /** Counts the attempt, or says how long it has to wait. */
  begin(attempt: Attempt, now: Instant): Option.Option<TooManyRequests> {
    const { login, network, device } = attempt
    if (device !== undefined) return this.#climb(this.#devices, `${login} ${device}`, "sign_in_device", now)

    const logins = this.#logins.get(login, now)
    const loginWait = shareWait(logins, loginShare, now)
    const pair = `${login} ${network}`
    const isFirst = network !== undefined && this.#pairs.get(pair, now).count === 0
    if (loginWait > 0 && !(isFirst && this.#isWelcome(`${login} ${regionOf(network)}`, now))) {
      return Option.some(refused("sign_in_login", loginWait))
    }
    if (network !== undefined) {
      const networks = this.#networks.get(network, now)
      const networkWait = shareWait(networks, networkShare, now)
      if (networkWait > 0) return Option.some(refused("sign_in_network", networkWait))
      const steep = this.#climb(this.#pairs, pair, "sign_in_pair", now)
      if (Option.isSome(steep)) return steep
      this.#networks.set(network, { count: forgiven(networks, networkShare, now) + 1, last: now })
    }
    const most = Math.min(forgiven(logins, loginShare, now) + 1, loginShare.burst)
    this.#logins.set(login, { count: most, last: now })
    return Option.none()
  }

  /** The password was right: the attempt no longer counts, and the slope starts again. */
  succeed(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    table.set(key, { count: 0, last: now })
    this.#takeShares(attempt, now)
  }

  /** The attempt failed for a reason of the server: it no longer counts. */
  abandon(attempt: Attempt, now: Instant): void {
    this.#undoSlope(attempt, now)
    this.#takeShares(attempt, now)
  }

  /** The server had no time for the attempt: it counts for its network only, which may be why. */
  turnAway(attempt: Attempt, now: Instant): void {
    this.#undoSlope(attempt, now)
    if (attempt.device === undefined) this.#takeBack(this.#logins, attempt.login, loginShare, now)
  }

  #undoSlope(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    const { count, last } = table.get(key, now)
    table.set(key, { count: count - 1, last })
  }

  #slopeOf({ login, network, device }: Attempt): readonly [Table, string] {
    return device === undefined ? [this.#pairs, `${login} ${network}`] : [this.#devices, `${login} ${device}`]
  }

  #takeShares({ login, network, device }: Attempt, now: Instant): void {
    if (device !== undefined) return
    if (network !== undefined) this.#takeBack(this.#networks, network, networkShare, now)
    this.#takeBack(this.#logins, login, loginShare, now)
  }

  /** Takes a first try of a network whose login has spent its share from the share of the region. */
  #isWelcome(region: string, now: Instant): boolean {
    const tries = this.#regions.get(region, now)
    if (shareWait(tries, regionShare, now) > 0) return false
    this.#regions.set(region, { count: forgiven(tries, regionShare, now) + 1, last: now })
    return true
  }

  #climb(table: Table, key: string, limit: string, now: Instant): Option.Option<TooManyRequests> {
    const failures = table.get(key, now)
    const wait = waitAfter(failures, now)
    if (wait > 0) return Option.some(refused(limit, wait))
    table.set(key, { count: failures.count + 1, last: now })
    return Option.none()
  }

  #takeBack(table: Table, key: string, share: Share, now: Instant): void {
    table.set(key, { count: forgiven(table.get(key, now), share, now) - 1, last: now })
  }
}
