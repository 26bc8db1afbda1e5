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

  set(name: string, value: A, now: Instant): void {
    // Last come, last gone: what is set again goes to the end.
    this.entries.delete(name)
    if (this.entries.size >= this.most) {
      const oldest = this.entries.keys().next()
      if (oldest.done !== true) this.entries.delete(oldest.value)
    }
    this.entries.set(name, { value, until: later(now, this.keptFor) })
  }

  delete(name: string): void {
    this.entries.delete(name)
  }
}
