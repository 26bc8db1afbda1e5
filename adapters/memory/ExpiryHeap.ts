/** What the heap keeps. `slot` is the heap's own: where the item stands in it, -1 where it does not. */
export interface Expiring {
  expiresAt: number | null
  slot: number
}

/** The items that expire, the soonest first: to know it costs nothing, to change one a few steps. */
export class ExpiryHeap<A extends Expiring> {
  private readonly items: Array<A> = []

  get soonest(): A | undefined {
    return this.items[0]
  }

  /** To be called after each change of an item's expiry, and before it is let go. */
  update(item: A): void {
    if (item.expiresAt === null) {
      this.delete(item)
      return
    }
    if (item.slot < 0) {
      item.slot = this.items.length
      this.items.push(item)
    }
    this.settle(item)
  }

  delete(item: A): void {
    if (item.slot < 0) return
    const last = this.items.pop()
    const { slot } = item
    item.slot = -1
    if (last === undefined || last === item) return
    this.place(last, slot)
    this.settle(last)
  }

  private settle(item: A): void {
    this.rise(item)
    this.sink(item)
  }

  private rise(item: A): void {
    while (item.slot > 0) {
      const parent = this.items[(item.slot - 1) >> 1]
      if (parent === undefined || due(parent) <= due(item)) return
      this.swap(parent, item)
    }
  }

  private sink(item: A): void {
    for (;;) {
      const left = this.items[2 * item.slot + 1]
      const right = this.items[2 * item.slot + 2]
      const child = left !== undefined && right !== undefined && due(right) < due(left) ? right : left
      if (child === undefined || due(item) <= due(child)) return
      this.swap(item, child)
    }
  }

  private swap(a: A, b: A): void {
    const slot = a.slot
    this.place(a, b.slot)
    this.place(b, slot)
  }

  private place(item: A, slot: number): void {
    item.slot = slot
    this.items[slot] = item
  }
}

const due = (item: Expiring): number => item.expiresAt ?? Number.POSITIVE_INFINITY
