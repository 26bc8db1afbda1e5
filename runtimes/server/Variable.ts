import { Config, Duration, Effect, Option, Redacted, Result, Schema } from "effect"
import { day } from "../../core/rules/Instant.ts"
import { inUnits } from "../serve/options.ts"

/** The server can't start like this. One line for each thing that is wrong, and none of them holds a value. */
export class WrongSettings extends Schema.TaggedError<WrongSettings>()("WrongSettings", {
  complaints: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.complaints.join("\n")
  }
}

/** One variable of the environment: how its text is read, and what it is without one. */
export interface Variable<A> {
  readonly name: string
  /** What a right value looks like, for the operator who wrote a wrong one. */
  readonly expected: string
  readonly read: (text: string) => Option.Option<A>
  /** What is wrong with a text that is not read, where that says more than `expected`. It never repeats the text. */
  readonly wrong?: (text: string) => string | undefined
  readonly fallback: A
}

/** What is wrong with one variable, without its value: that may be a secret. */
export type Complaint = string

export const complaint = (name: string, expected: string): Complaint => `${name}: expected ${expected}`

const readVariable = <A>(variable: Variable<A>): Effect.Effect<A, Complaint> =>
  Config.option(Config.Redacted(variable.name)).pipe(
    Effect.mapError(() => complaint(variable.name, variable.expected)),
    Effect.flatMap((given) => {
      if (Option.isNone(given)) return Effect.succeed(variable.fallback)
      const text = Redacted.value(given.value)
      const read = variable.read(text)
      if (Option.isSome(read)) return Effect.succeed(read.value)
      const wrong = variable.wrong?.(text)
      return Effect.fail(
        wrong === undefined ? complaint(variable.name, variable.expected) : `${variable.name}: ${wrong}`
      )
    })
  )

type Variables = Readonly<Record<string, Variable<unknown>>>

/** What variables come to, by name. */
export type Given<V extends Variables> = { readonly [name in keyof V]: V[name] extends Variable<infer A> ? A : never }

type Readings<V extends Variables> = { readonly [name in keyof V]: Effect.Effect<Given<V>[name], Complaint> }

/** Each on its own, to be read together with others. */
export const readVariables = <V extends Variables>(variables: V): Readings<V> =>
  // Each name has what its own variable reads, which the type of a mapped object can't say.
  Object.fromEntries(Object.entries(variables).map(([name, one]) => [name, readVariable(one)])) as Readings<V>

/** All that is wrong with what was read. */
export const complaintsOf = (
  read: Readonly<Record<string, Result.Result<unknown, Complaint>>>
): ReadonlyArray<Complaint> => Object.values(read).flatMap((one) => (Result.isFailure(one) ? [one.failure] : []))

export const optional = <A>(variable: Omit<Variable<A>, "fallback">): Variable<Option.Option<A>> => ({
  ...variable,
  read: (text) => Option.map(variable.read(text), Option.some),
  fallback: Option.none()
})

export const fromResult =
  <A, E>(parse: (text: string) => Result.Result<A, E>) =>
  (text: string): Option.Option<A> =>
    Result.getSuccess(parse(text))

export const text = (name: string, expected: string, pattern: RegExp): Omit<Variable<string>, "fallback"> => ({
  name,
  expected,
  read: (given) => (pattern.test(given) ? Option.some(given) : Option.none())
})

/** Where a listener is to be found by the network. */
export const listeningHost = (name: string): Variable<string> => ({
  ...text(name, "an address or a host name to listen on", /^[A-Za-z0-9.:_-]+$/),
  fallback: "127.0.0.1"
})

/** One of a few words. */
export const oneOf = <const Word extends string>(name: string, words: ReadonlyArray<Word>, fallback: Word) => ({
  name,
  expected: words.join(" or "),
  read: (text: string): Option.Option<Word> => Option.fromUndefinedOr(words.find((word) => word === text)),
  fallback
})

export const switchOf = (name: string, on: string, off: string, fallback: boolean): Variable<boolean> => ({
  name,
  expected: `${on} or ${off}`,
  read: (text) => (text === on ? Option.some(true) : text === off ? Option.some(false) : Option.none()),
  fallback
})

export const wholeNumber = (name: string, least: number, most: number, fallback: number): Variable<number> => ({
  name,
  expected: `a whole number from ${least} to ${most}`,
  read: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? Option.some(value) : Option.none()
  },
  fallback
})

/** Well within the 48 bits that a token has for its expiry. */
const century = 36_500 * day
/** A timer has 31 bits: beyond them it goes off at once. */
const longestTimer = 24 * day

/** In whole milliseconds. `0` needs no unit. */
export const durationOf = (
  name: string,
  least: number,
  fallback: number,
  most: number = century
): Variable<number> => ({
  name,
  expected: `${least > 0 ? `a duration of at least ${inUnits(least)} and` : "0, or a duration of"} at most ${inUnits(most)}, such as "90 seconds", "15 minutes" or "30 days"`,
  read: (text) => {
    // The type of an input is a template of its units; a text that does not fit it is what fails here.
    const parsed = text === "0" ? Option.some(Duration.zero) : Duration.fromInput(text.trim() as Duration.Input)
    return parsed.pipe(
      Option.map(Duration.toMillis),
      Option.filter((millis) => Number.isSafeInteger(millis) && millis >= least && millis <= most)
    )
  },
  fallback
})

/** What a timer waits for. */
export const timeoutOf = (name: string, least: number, fallback: number): Variable<number> =>
  durationOf(name, least, fallback, longestTimer)
