import type { Verdict } from "./Verdict.ts"

/** What one process is asked to do. */
export type Job =
  /** All of these in one process, switched on one after the other while the tests run. */
  | { readonly _tag: "Switched"; readonly mutants: ReadonlyArray<string>; readonly hits: Hits | undefined }
  /** One that is at work from the first import on, so it needs a process of its own. */
  | { readonly _tag: "FromStart"; readonly mutant: string; readonly files: ReadonlyArray<string> }

/** Whom a mutant's place is reached by: while the sources, or a file of tests, are loaded, and by which tests how often. */
export interface Hits {
  readonly atStart: ReadonlyArray<string>
  readonly byFile: { readonly [file: string]: ReadonlyArray<string> }
  readonly byTest: { readonly [test: string]: { readonly [mutant: string]: number } }
}

/** What a process says, a line each. */
export type Said =
  | { readonly _tag: "Unsound"; readonly test: string; readonly reason: string }
  | { readonly _tag: "Reached"; readonly hits: Hits }
  | { readonly _tag: "Trying"; readonly mutant: string }
  | { readonly _tag: "Tried"; readonly mutant: string; readonly verdict: Verdict }
  /** No test noticed it, but those of these files came by its place before and no more: what was made there is kept. */
  | { readonly _tag: "Unseen"; readonly mutant: string; readonly files: ReadonlyArray<string> }
  | { readonly _tag: "Done" }

export const mark = "mutation> "
