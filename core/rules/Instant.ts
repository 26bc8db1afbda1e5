import { type Clock, Effect, Schema } from "effect"

/** A moment, in whole milliseconds since 1970. */
export const Instant = Schema.Int.pipe(Schema.brand("Instant"))
export type Instant = typeof Instant.Type

/** How long something lasts, in whole milliseconds. */
export type Millis = number

export const second: Millis = 1000
export const minute: Millis = 60 * second
export const hour: Millis = 60 * minute
export const day: Millis = 24 * hour

/**
 * How far the clock of whoever signs a request may be off (FAPI 2.0 §5.3.2.1: at least 8 s are taken, 60 s are not).
 */
export const leeway: Millis = 10 * second

/** The clocks of two processes over one store differ by less. */
export const clocksDiffer: Millis = minute

/** So far apart may clocks be where to be early ends what is good, and to be late costs little. */
export const clocksMayDiffer: Millis = 5 * minute

// Whole numbers add up to a whole number: nothing is left to check.
export const later = (from: Instant, by: Millis): Instant => (from + by) as Instant

/** An expiry is the first moment at which a thing no longer counts. */
export const hasPassed = (expiry: Instant, now: Instant): boolean => expiry <= now

/** RFC 7519 §2: a moment as tokens tell it. */
export const secondsOf = (at: Instant): number => Math.floor(at / 1000)

export const earlier = (a: Instant, b: Instant): Instant => (a < b ? a : b)

/** The clock's answer is whole milliseconds: an Instant. */
export const instantOf = (clock: Clock.Clock): Instant => clock.currentTimeMillisUnsafe() as Instant

export const currentInstant: Effect.Effect<Instant> = Effect.clockWith((clock) => Effect.succeed(instantOf(clock)))
