/** How long a run takes. */
export interface Options {
  readonly rounds: number
  readonly millis: number
  readonly warmMillis: number
  /** Before the first round: as long as a runtime needs to have compiled what is hot. */
  readonly firstWarmMillis: number
  readonly firstWarmRequests: number
  readonly connections: number
}

export const thorough: Options = {
  rounds: 5,
  millis: 500,
  warmMillis: 120,
  firstWarmMillis: 1200,
  firstWarmRequests: 15_000,
  connections: 64
}

export const quick: Options = {
  rounds: 3,
  millis: 400,
  warmMillis: 120,
  firstWarmMillis: 800,
  firstWarmRequests: 4000,
  connections: 64
}

/** For figures that lie close together: more rounds, and shorter turns, since a host disturbs for seconds on end. */
export const closely = (options: Options): Options => ({
  ...options,
  rounds: 2 * options.rounds - 1,
  millis: 280,
  warmMillis: 80
})

/** For figures that lie far apart, or that nothing hangs on. */
export const briefly = (options: Options): Options => ({ ...closely(options), rounds: options.rounds })
