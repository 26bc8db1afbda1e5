/** Every name that options have. A new one does not compile until it is here. */
export type NamesOf<A> = { readonly [name in keyof Required<A>]: true }

export const isObject = (given: unknown): given is object =>
  typeof given === "object" && given !== null && !Array.isArray(given)

/** A name that is none of these: passed over, it would leave a host with a default that it thinks it changed. */
export const strangerIn = (given: object, known: object): string | undefined =>
  Object.keys(given).find((name) => !Object.hasOwn(known, name))
