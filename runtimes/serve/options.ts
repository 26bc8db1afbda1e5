import { Duration, Option } from "effect"
import { day, hour, minute } from "../../core/rules/Instant.ts"

/** Every name that options have. A new one does not compile until it is here. */
export type NamesOf<A> = { readonly [name in keyof Required<A>]: true }

export const isObject = (given: unknown): given is object =>
  typeof given === "object" && given !== null && !Array.isArray(given)

/** A name that is none of these: passed over, it would leave a host with a default that it thinks it changed. */
export const strangerIn = (given: object, known: object): string | undefined =>
  Object.keys(given).find((name) => !Object.hasOwn(known, name))

/** Effect takes what is no number for no time at all. */
const holdsNoNumber = (given: Duration.Input): boolean =>
  (typeof given === "object" && given !== null ? Object.values(given) : [given]).some(Number.isNaN)

/** What a host says that something lasts, in whole milliseconds; `undefined` where that is no time, or never ends. */
export const readMillis = (given: Duration.Input): number | undefined => {
  if (holdsNoNumber(given)) return undefined
  const millis = Option.getOrUndefined(Option.map(Duration.fromInput(given), Duration.toMillis))
  return millis !== undefined && Number.isFinite(millis) && millis >= 0 ? Math.floor(millis) : undefined
}

const units = { day, hour, minute, second: 1000, milli: 1 }

/** In the largest unit that it is a whole number of, as variables and options take it. */
export const inUnits = (millis: number): string => {
  const [unit, size] = Object.entries(units).find(([, size]) => millis % size === 0) ?? ["milli", 1]
  return `${millis / size} ${unit}${millis === size ? "" : "s"}`
}
