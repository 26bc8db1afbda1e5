import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"

interface Entry<A> {
  readonly value: A
  readonly until: Instant
}

/**
 * What was read a moment ago, by name. Looking is a plain function call: `effect`'s Cache takes a fiber's turn for each
 * look, and this is looked at by every request.
 */
export class Recent<A> {
  private readonly entries = new Map<string, Entry<A>>()
  private forgettings = 0
  private readonly most: number
  private readonly keptFor: Millis

  constructor(most: number, keptFor: Millis) {
    this.most = most
    this.keptFor = keptFor
  }

  get(name: string, now: Instant): A | undefined {
    const entry = this.entries.get(name)
    return entry === undefined || hasPassed(entry.until, now) ? undefined : entry.value
  }

  /** What was read before something was forgotten may be what was forgotten: it is not to be remembered after it. */
  get forgotten(): number {
    return this.forgettings
  }

  remember(name: string, value: A, now: Instant, forgottenBefore: number): void {
    if (forgottenBefore !== this.forgettings) return
    // Last come, last gone: what is set again goes to the end.
    this.entries.delete(name)
    if (this.entries.size >= this.most) {
      const oldest = this.entries.keys().next()
      if (oldest.done !== true) this.entries.delete(oldest.value)
    }
    this.entries.set(name, { value, until: later(now, this.keptFor) })
  }

  forget(name: string): void {
    this.forgettings++
    this.entries.delete(name)
  }
}
