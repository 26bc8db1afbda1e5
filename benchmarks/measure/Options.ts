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
  rounds: 7,
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
