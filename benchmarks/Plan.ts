import type { Workload } from "./Workload.ts"

/**
 * The requests of one run, as the server that is to answer them describes them. `{value}` in a header or the body
 * stands for one of `values`.
 */
export interface Plan {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /**
   * `none`: every request is the same. `cycle`: the values are used over and over. `once`: each is used once, and the
   * run ends with the last, if its time has not come before. `chain`: each is replaced by the `refresh_token` of its answer.
   */
  readonly use: "none" | "cycle" | "once" | "chain"
  readonly values: ReadonlyArray<string>
  readonly expect: number
  /** Whom the requests are for, one after the other, where a server has many names. */
  readonly hosts?: ReadonlyArray<string>
}

/** What a run prepares for: so many values, where the workload uses some up. */
export interface Order {
  readonly workload: Workload
  readonly count: number
}

/** The first line of a server: where it listens. */
export interface Ready {
  readonly port: number
}
