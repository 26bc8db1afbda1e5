/** Latencies in milliseconds; beyond so many, an even selection of them. */
export class Latencies {
  private values: Float64Array
  private size = 0
  private every = 1
  private skipped = 0

  constructor(capacity = 1 << 18) {
    this.values = new Float64Array(capacity)
  }

  add(millis: number): void {
    if (++this.skipped < this.every) return
    this.skipped = 0
    if (this.size === this.values.length) this.thin()
    this.values[this.size++] = millis
  }

  quantile(share: number): number {
    const sorted = this.values.slice(0, this.size).sort()
    return sorted[Math.min(this.size - 1, Math.floor(share * this.size))] ?? 0
  }

  private thin(): void {
    const half = this.size >> 1
    for (let i = 0; i < half; i++) this.values[i] = this.values[2 * i] ?? 0
    this.size = half
    this.every *= 2
  }
}
