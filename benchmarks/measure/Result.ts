import type { Sample } from "../load/Run.ts"

/** What one subject did with one workload, round after round. */
export interface Result {
  readonly part: string
  readonly workload: string
  readonly store: string
  readonly subject: string
  readonly runtime: string
  /** What else it was: connections, grants, processes. */
  readonly case: string
  readonly samples: ReadonlyArray<Sample>
}
