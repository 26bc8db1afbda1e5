import { Option } from "effect"
import { LatelyUsed } from "../cache/LruMap.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import { TooManyRequests } from "../rules/Refusal.ts"

/** Who tries, as far as it is known. Keys only: a digest of the email, a network, a browser's name. */
export interface Attempt {
  readonly login: string
  /** None where the runtime does not know the peer. */
  readonly network: string | undefined
  /** A browser in which this login signed in before. */
  readonly device: string | undefined
}

/** Attempts that failed, or have not come to an end. */
interface Failures {
  readonly count: number
  readonly last: Instant
}

/** How failures slow down what comes after them. */
interface Slope {
  /** So many cost nothing … */
  readonly free: number
  /** … then the wait doubles from a second up to this. */
  readonly longest: Millis
}

/** How much one share bears: so many failures at once, and one more forgiven with every `refill`. */
interface Share {
  readonly burst: number
  readonly refill: Millis
}

const minute = 60_000

/** One login from one network or one known browser: a person who mistypes hardly notices, a guesser waits. */
const slope: Slope = { free: 5, longest: 5 * minute }
/** One network, whatever logins it tries: an office behind one address signs in all at once, and may mistype. */
const networkShare: Share = { burst: 200, refill: 6_000 }
/** One login, from wherever it is tried. */
const loginShare: Share = { burst: 60, refill: minute }
/** A login whose share is spent, from all networks of one IPv6 customer: a /48 has 65,536 to choose from. */
const regionShare: Share = { burst: 8, refill: 60 * minute }
/** After so long without a failure all is forgotten. */
const forgottenAfter = 24 * 60 * minute

/** An IPv4 address is its own region: whoever has many of those, has them from many places. */
const regionOf = (network: string): string => network.replace(/^([^:]*:[^:]*:[^:]*):.*$/, "$1")

/** Each of the five tables holds this many that were touched last, and up to as many again. */
const rows = 50_000

const waitAfter = ({ count, last }: Failures, now: Instant): Millis =>
  count < slope.free ? 0 : Math.max(0, last + Math.min(slope.longest, 1000 * 2 ** (count - slope.free)) - now)

class Table {
  readonly #rows = new LatelyUsed<string, Failures>(2 * rows)

  get(key: string, now: Instant): Failures {
    const found = this.#rows.get(key)
    if (found === undefined || found.last + forgottenAfter <= now) return { count: 0, last: now }
    if (found.last <= now) return found
    // Once a clock is set back nothing would be waited off or forgiven before it came there again.
    const rebased = { ...found, last: now }
    this.set(key, rebased)
    return rebased
  }

  set(key: string, failures: Failures): void {
    if (failures.count <= 0) this.#rows.delete(key)
    else this.#rows.set(key, failures)
  }
}

/** A share's failures as they count now: some of them are forgiven by and by. */
const forgiven = ({ count, last }: Failures, share: Share, now: Instant): number =>
  Math.max(0, count - (now - last) / share.refill)

const shareWait = (failures: Failures, share: Share, now: Instant): Millis =>
  Math.max(0, Math.ceil((forgiven(failures, share, now) + 1 - share.burst) * share.refill))

const refused = (limit: string, wait: Millis): TooManyRequests =>
  new TooManyRequests({ limit, retryAfterSeconds: Math.ceil(wait / 1000) })

/**
 * Slows down guessing without ever locking anybody out. Every attempt counts as failed from its start, so that many at
 * once gain nothing, and one that succeeds is taken back.
 *
 * - A known browser has a slope of its own, and nothing that happens elsewhere touches it.
 * - Everybody else has the slope of their network for this login, and their network's share.
 * - A login whose share is spent leaves each network one try, so that its owner still gets in from a new place; the
 *   networks of one IPv6 customer share a few.
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

  /** The person was right: what was counted at the start is taken back, and the slope begins anew. */
  succeed(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    table.set(key, { count: 0, last: now })
    this.#takeShares(attempt, now)
  }

  /** The attempt came to no answer, through no fault of whoever tried. */
  abandon(attempt: Attempt, now: Instant): void {
    const [table, key] = this.#slopeOf(attempt)
    const { count, last } = table.get(key, now)
    table.set(key, { count: count - 1, last })
    this.#takeShares(attempt, now)
  }

  #slopeOf({ login, network, device }: Attempt): readonly [Table, string] {
    return device === undefined ? [this.#pairs, `${login} ${network}`] : [this.#devices, `${login} ${device}`]
  }

  #takeShares({ login, network, device }: Attempt, now: Instant): void {
    if (device !== undefined) return
    if (network !== undefined) this.#takeBack(this.#networks, network, networkShare, now)
    this.#takeBack(this.#logins, login, loginShare, now)
  }

  /** A first try beyond the login's share: whether the region has one left, which is then taken. */
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
