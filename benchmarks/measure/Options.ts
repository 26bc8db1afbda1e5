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
  millis: 1000,
  warmMillis: 200,
  firstWarmMillis: 1500,
  firstWarmRequests: 15_000,
  connections: 64
}

export const quick: Options = {
  rounds: 3,
  millis: 500,
  warmMillis: 150,
  firstWarmMillis: 800,
  firstWarmRequests: 4000,
  connections: 64
}
