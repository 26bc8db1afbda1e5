/** How much a process keeps of what it has made of tokens and grants, so as not to make it again. */
export interface AtHand {
  /** Access tokens that were opened: half a kilobyte each. */
  readonly tokens: number
  /** Grants that were written: a kilobyte each, and half as much again for what the collector lets gather beside it. */
  readonly grants: number
}

/** For a process that shares its machine. */
export const littleAtHand: AtHand = { tokens: 4096, grants: 4096 }

/** For one that serves more grants than that at a time, and may take some 40 MB for it. */
export const muchAtHand: AtHand = { tokens: 32_768, grants: 32_768 }
