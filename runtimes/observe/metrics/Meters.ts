import { Context, Metric } from "effect"
import { formatUnsafe } from "effect/observability/PrometheusMetrics"

/** One series that only grows. Adding to `value` is all that counting costs. */
export interface Count {
  value: number
}

type Labels = Readonly<Record<string, string>>

/** In seconds: from what one look into memory takes to what no caller waits for any more. */
export const latencies: ReadonlyArray<number> = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]

/** One series of a histogram. */
export class Spread {
  readonly #buckets = new Float64Array(latencies.length + 1)
  #sum = 0
  #count = 0

  add(seconds: number): void {
    let bucket = 0
    while (seconds > (latencies[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
    this.#sum += seconds
    this.#count++
  }

  state(): Metric.HistogramState {
    let below = 0
    const buckets = latencies.map((boundary, at): [number, number] => {
      below += this.#buckets[at] ?? 0
      return [boundary, below]
    })
    // Prometheus shows neither; the type wants both.
    return { buckets, count: this.#count, sum: this.#sum, min: 0, max: 0 }
  }
}

const nothing = () => undefined

/**
 * The series that this process shows. They live outside `Metric` and are read at a scrape: an update through
 * `Metric` looks its series up in the registry every time.
 */
export class Meters {
  readonly #context = Context.make(Metric.MetricRegistry, new Map())

  /** `state` is called at each scrape. */
  #show<State>(metric: Metric.Metric<never, State>, state: () => State): void {
    Metric.registerUnsafe(metric, this.#context, { get: state, update: nothing, modify: nothing })
  }

  count(name: string, description: string, attributes: Labels = {}): Count {
    const count: Count = { value: 0 }
    this.#show(Metric.counter(name, { description, attributes, incremental: true }), () => ({
      count: count.value,
      incremental: true
    }))
    return count
  }

  spread(name: string, description: string, attributes: Labels = {}): Spread {
    const spread = new Spread()
    this.#show(Metric.histogram(name, { description, attributes, boundaries: [...latencies] }), () => spread.state())
    return spread
  }

  /** `read` is called at each scrape. */
  gauge(name: string, description: string, read: () => number, attributes: Labels = {}): void {
    this.#show(Metric.gauge(name, { description, attributes }), () => ({ value: read() }))
  }

  /** A number that is counted up elsewhere. */
  counted(name: string, description: string, read: () => number): void {
    this.#show(Metric.counter(name, { description, incremental: true }), () => ({ count: read(), incremental: true }))
  }

  /** All of it, in Prometheus's text format. */
  exposition(): string {
    return formatUnsafe(this.#context)
  }
}

/** Series of one name by one label each, made when they are first needed. The labels' values have to be few. */
export const countsBy = <const Name extends string>(
  meters: Meters,
  name: string,
  description: string,
  labels: ReadonlyArray<Name>
): ((...values: ReadonlyArray<string>) => Count) => {
  const made = new Map<string, Count>()
  return (...values) => {
    const key = values.join(" ")
    const known = made.get(key)
    if (known !== undefined) return known
    const count = meters.count(
      name,
      description,
      Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ""]))
    )
    made.set(key, count)
    return count
  }
}
