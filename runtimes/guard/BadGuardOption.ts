import { Schema } from "effect"
import { faultOfNeeds, type Needs } from "../../core/http/guard.ts"

/** What a guard was given and cannot be made of. `message` names the option, and never holds a secret's value. */
export class BadGuardOption extends Schema.TaggedError<BadGuardOption>()("BadGuardOption", {
  option: Schema.String,
  message: Schema.String
}) {}

/** Throws `BadGuardOption`: where a route's guard is made, so that a host hears of it before anybody calls. */
export const refuseBad = (needs: Needs): void => {
  const fault = faultOfNeeds(needs)
  if (fault === undefined) return
  const { option, why } = fault
  throw new BadGuardOption({ option, message: `guard: ${option} ${why}` })
}
