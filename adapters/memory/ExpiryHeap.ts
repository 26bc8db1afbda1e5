/** An item of the heap. The heap sets `due`, its sort key, and `slot`, its index or -1. */
export interface Expiring {
  expiresAt: number | null
  due: number
  slot: number
}

/**
 * Items by expiry, the soonest first. Prolonging an item, as each refresh of a grant does, is free: it moves only
 * when it reaches the front. So `due` is never later than the expiry.
 */
export class ExpiryHeap<A extends Expiring> {
  private readonly items: Array<A> = []

  soonest(): A | undefined {
    for (;;) {
      const first = this.items[0]
      if (first === undefined || first.due === first.expiresAt) return first
      if (first.expiresAt === null) this.delete(first)
      else {
        first.due = first.expiresAt
        this.sink(first)
      }
    }
  }

  /** Call after each change of an item's expiry. */
  update(item: A): void {
    if (item.expiresAt === null || (item.slot >= 0 && item.due <= item.expiresAt)) return
    item.due = item.expiresAt
    if (item.slot < 0) {
      item.slot = this.items.length
      this.items.push(item)
    }
    this.rise(item)
  }

  delete(item: A): void {
    if (item.slot < 0) return
    const last = this.items.pop()
    const { slot } = item
    item.slot = -1
    if (last === undefined || last === item) return
    this.place(last, slot)
    this.rise(last)
    this.sink(last)
  }

  private rise(item: A): void {
    while (item.slot > 0) {
      const parent = this.items[(item.slot - 1) >> 1]
      if (parent === undefined || parent.due <= item.due) return
      this.swap(parent, item)
    }
  }

  private sink(item: A): void {
    for (;;) {
      const left = this.items[2 * item.slot + 1]
      const right = this.items[2 * item.slot + 2]
      const child = left !== undefined && right !== undefined && right.due < left.due ? right : left
      if (child === undefined || item.due <= child.due) return
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
