import { Result, Schema } from "effect"
import type { Millis } from "./Instant.ts"
import { neutralise } from "./neutralise.ts"

export const keyNameLength = 100
/** A hundred years: what is to last longer is to have no end. */
export const longestKeyLifetime: Millis = 36_525 * 86_400_000

/** An API key that nobody can be given. */
export class BadKeyTerms extends Schema.TaggedError<BadKeyTerms>()("BadKeyTerms", {
  reason: Schema.Literals(["no_name", "long_name", "lifetime"])
}) {}

/** What an owner wants a key to be called, and for how long it is to be good; `undefined`: for good. */
export interface KeyTerms {
  readonly name: string
  readonly lasts: Millis | undefined
}

/** Held to what a list can show, whoever typed it and wherever; the name as it will be shown. */
export const readKeyTerms = ({ lasts, name: typed }: KeyTerms): Result.Result<KeyTerms, BadKeyTerms> => {
  if (typed.length > keyNameLength) return Result.fail(new BadKeyTerms({ reason: "long_name" }))
  const name = neutralise(typed, keyNameLength)
  if (name === undefined) return Result.fail(new BadKeyTerms({ reason: "no_name" }))
  if (lasts === undefined) return Result.succeed({ name, lasts })
  return lasts >= 1 && lasts <= longestKeyLifetime
    ? Result.succeed({ name, lasts: Math.floor(lasts) })
    : Result.fail(new BadKeyTerms({ reason: "lifetime" }))
}
