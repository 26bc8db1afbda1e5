/** What one look at one thing came to. */
export interface Finding {
  readonly what: string
  readonly state: "good" | "doubtful" | "bad"
  readonly says: string
  /** What to do about it. */
  readonly advice?: string
}

export const good = (what: string, says: string): Finding => ({ what, state: "good", says })
export const doubtful = (what: string, says: string, advice: string): Finding => ({
  what,
  state: "doubtful",
  says,
  advice
})
export const bad = (what: string, says: string, advice: string): Finding => ({ what, state: "bad", says, advice })
