/** How long a run takes. */
export interface Options {
  readonly rounds: number
  readonly millis: number
  readonly warmMillis: number
  /** Before the first round: as long as a runtime needs to have compiled what is hot. */
  readonly firstWarmMillis: number
  /** How many codes are redeemed in one round. */
  readonly codes: number
  readonly connections: number
}

export const thorough: Options = {
  rounds: 5,
  millis: 2000,
  warmMillis: 300,
  firstWarmMillis: 2500,
  codes: 16_000,
  connections: 64
}

export const quick: Options = {
  rounds: 3,
  millis: 1000,
  warmMillis: 200,
  firstWarmMillis: 1500,
  codes: 8000,
  connections: 64
}
