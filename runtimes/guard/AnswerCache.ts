import type { Binding } from "../../core/grant/Binding.ts"
import type { Caller } from "./Check.ts"
import type { Answer } from "./introspect.ts"

interface Entry {
  /** `undefined`: the token is good for nothing. */
  readonly caller: Caller | undefined
  readonly implied: ReadonlyArray<string>
  readonly binding: Binding | null
  readonly until: number
  /** When it was kept: a clock that shows less was set back, and does not tell for how long it has been. */
  readonly since: number
}

/** So many entries, by name; the one that was not asked for for longest makes room. */
class Entries {
  readonly #entries = new Map<string, Entry>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  get(name: string, now: number): Entry | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#entries.delete(name)
    if (entry.until <= now || now < entry.since) return undefined
    this.#entries.set(name, entry)
    return entry
  }

  set(name: string, entry: Entry): void {
    this.#entries.delete(name)
    if (this.#entries.size >= this.#most) {
      const oldest = this.#entries.keys().next()
      if (oldest.done !== true) this.#entries.delete(oldest.value)
    }
    this.#entries.set(name, entry)
  }

  delete(name: string): void {
    this.#entries.delete(name)
  }

  deleteWhere(drop: (entry: Entry) => boolean): void {
    for (const [name, entry] of this.#entries) if (drop(entry)) this.#entries.delete(name)
  }

  clear(): void {
    this.#entries.clear()
  }
}

interface Lifetimes {
  readonly ttl: number
  readonly negativeTtl: number
  readonly maxEntries: number
}

/**
 * What was answered about tokens lately, by the hash of each. Good and bad ones are kept apart: made-up tokens cannot
 * push the good ones out.
 */
export class AnswerCache {
  readonly #good: Entries
  readonly #bad: Entries
  readonly #lifetimes: Lifetimes

  constructor(lifetimes: Lifetimes) {
    this.#lifetimes = lifetimes
    this.#good = new Entries(lifetimes.maxEntries)
    this.#bad = new Entries(lifetimes.maxEntries)
  }

  get size(): number {
    return this.#good.size + this.#bad.size
  }

  get(name: string, now: number): Entry | undefined {
    return this.#good.get(name, now) ?? this.#bad.get(name, now)
  }

  /** `askedAt`: the answer may be older than its arrival, and counts from the moment that it was asked for. */
  keep(name: string, { binding, caller, implied, maxAge }: Answer, askedAt: number, now: number): void {
    this.delete(name)
    const { negativeTtl, ttl } = this.#lifetimes
    const lasts = Math.min(caller === undefined ? negativeTtl : ttl, maxAge ?? Number.POSITIVE_INFINITY)
    const until = Math.min(askedAt + lasts, caller?.expiresAt ?? Number.POSITIVE_INFINITY)
    if (until <= now || now < askedAt) return
    if (caller === undefined) this.#bad.set(name, { caller, implied, binding, until, since: now })
    else this.#good.set(name, { caller, implied, binding, until, since: now })
  }

  delete(name: string): void {
    this.#good.delete(name)
    this.#bad.delete(name)
  }

  deleteWhere(drop: (caller: Caller) => boolean): void {
    this.#good.deleteWhere(({ caller }) => caller !== undefined && drop(caller))
  }

  clear(): void {
    this.#good.clear()
    this.#bad.clear()
  }
}
