import { noEnd } from "./failureOf.ts"

export interface Killed {
  readonly _tag: "Killed"
  /** The test that noticed, or the file of tests. */
  readonly by: string
  readonly how: "failed" | "no end" | "process ended"
}

/** Where the test is. */
export const fileOf = (test: string): string => test.split(" > ", 1)[0] ?? ""

/** What became of a mutant. One that has no verdict was reached by no test. */
export type Verdict = Killed | { readonly _tag: "Survived" }

/** Stryker's switches break a loop that turns too often by this error. */
const brokenLoop = "Stryker: Hit count limit"

export const killed = (by: string, reason: string): Killed => ({
  _tag: "Killed",
  by,
  how: reason === noEnd || reason.startsWith(brokenLoop) ? "no end" : "failed"
})

/** A mutant that took its whole process along. */
export const lost = (end: "ended" | "silent" | "broken"): Killed => ({
  _tag: "Killed",
  by: "",
  how: end === "silent" ? "no end" : "process ended"
})
