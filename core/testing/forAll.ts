import { Effect, Arbitrary as Engine, Schema } from "effect"

/**
 * The one door to Effect's `Arbitrary`, which its authors may still change: everything of ours that makes values goes
 * through this file.
 */
export type Arbitrary<A> = Engine.Arbitrary<A>

export const { schema: ofSchema, map, all, array, filter, flatMap, Constant: always } = Engine

const index = (count: number): Arbitrary<number> =>
  Engine.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: count - 1 })))

/** One of several kinds, each as likely as the others. */
export const oneOf = <A>(...choices: readonly [Arbitrary<A>, ...ReadonlyArray<Arbitrary<A>>]): Arbitrary<A> =>
  Engine.flatMap(index(choices.length), (at) => choices[at] ?? choices[0])

export interface Trying {
  readonly seed: number
  readonly runs: number
}

/** Tries a law on many values; what breaks it comes back shrunk and in words, and `undefined` is that it held. */
export const forAll = <A, E, R>(
  arbitrary: Arbitrary<A>,
  holds: (value: A) => boolean | Effect.Effect<boolean, E, R>,
  { seed, runs }: Trying
): Effect.Effect<string | undefined, never, R> =>
  Effect.map(Engine.checkEffect(arbitrary, holds, { seed, runs, size: 12 }), (result) => {
    const failure = Engine.formatCheckFailure(result)
    return failure === undefined ? undefined : `${failure}\nSee it again with TESSERA_SEED=${seed}`
  })

/** Some values, for a look at what an arbitrary makes. */
export const samplesOf = <A>(arbitrary: Arbitrary<A>, seed: number, count: number): Effect.Effect<ReadonlyArray<A>> =>
  Effect.orDie(Engine.sampleEffect(arbitrary, { seed, count, size: 12 }))
