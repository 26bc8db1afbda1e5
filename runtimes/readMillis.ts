import { Duration, Option } from "effect"

/** Effect takes what is no number for no time at all. */
const holdsNoNumber = (given: Duration.Input): boolean =>
  (typeof given === "object" && given !== null ? Object.values(given) : [given]).some(Number.isNaN)

/** What a host says that something lasts, in whole milliseconds; `undefined` where that is no time, or never ends. */
export const readMillis = (given: Duration.Input): number | undefined => {
  if (holdsNoNumber(given)) return undefined
  const millis = Option.getOrUndefined(Option.map(Duration.fromInput(given), Duration.toMillis))
  return millis !== undefined && Number.isFinite(millis) && millis >= 0 ? Math.floor(millis) : undefined
}
