const mostPerChunk = 512

/**
 * A sorted list in small chunks: an insert or removal costs a search and the move of one chunk, whatever the length.
 * Eight bytes for each item. `lazily`: what was added waits without an order until it is read.
 */
export class SortedList<A> {
  private readonly chunks: Array<Array<A>> = []
  private readonly waiting = new Set<A>()
  private readonly compare: (a: A, b: A) => number
  private readonly lazily: boolean

  constructor(compare: (a: A, b: A) => number, lazily = false) {
    this.compare = compare
    this.lazily = lazily
  }

  add(item: A): void {
    if (this.lazily) this.waiting.add(item)
    else this.place(item)
  }

  private place(item: A): void {
    const at = Math.max(
      0,
      this.lastChunkWith((first) => this.compare(first, item) <= 0)
    )
    const chunk = this.chunks[at]
    if (chunk === undefined) {
      this.chunks.push([item])
      return
    }
    chunk.splice(
      lowerBound(chunk, (other) => this.compare(other, item) < 0),
      0,
      item
    )
    if (chunk.length > mostPerChunk) this.chunks.splice(at + 1, 0, chunk.splice(chunk.length >> 1))
  }

  delete(item: A): void {
    if (this.waiting.delete(item)) return
    const at = this.lastChunkWith((first) => this.compare(first, item) <= 0)
    const chunk = this.chunks[at]
    if (chunk === undefined) return
    const index = lowerBound(chunk, (other) => this.compare(other, item) < 0)
    if (chunk[index] !== item) return
    chunk.splice(index, 1)
    const next = this.chunks[at + 1]
    if (next !== undefined && chunk.length + next.length < mostPerChunk >> 1) {
      chunk.push(...next)
      this.chunks.splice(at + 1, 1)
    } else if (chunk.length === 0) this.chunks.splice(at, 1)
  }

  /** In order, from the first item for which `before` is false. */
  *from(before: (item: A) => boolean): Generator<A> {
    for (const item of this.waiting) this.place(item)
    this.waiting.clear()
    let at = Math.max(0, this.lastChunkWith(before))
    let index = lowerBound(this.chunks[at] ?? [], before)
    for (; at < this.chunks.length; at++, index = 0) {
      const chunk = this.chunks[at] ?? []
      for (; index < chunk.length; index++) {
        const item = chunk[index]
        if (item !== undefined) yield item
      }
    }
  }

  private lastChunkWith(standsBefore: (first: A) => boolean): number {
    return lowerBound(this.chunks, ([first]) => first !== undefined && standsBefore(first)) - 1
  }
}

/** The first index whose item is not `before`. Needs all items that are `before` in front. */
const lowerBound = <A>(items: ReadonlyArray<A>, before: (item: A) => boolean): number => {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items[middle]
    if (item !== undefined && before(item)) low = middle + 1
    else high = middle
  }
  return low
}
