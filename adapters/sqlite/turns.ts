const open = new Set<() => void>()

/** What a store takes for granted until its turn ends has to stop, by this, where a write ends it early. */
export const openTurn = (end: () => void): void => {
  open.add(end)
}

export const closeTurn = (end: () => void): void => {
  open.delete(end)
}

/**
 * Before a write: what it is acknowledged as, anybody may be asked about in the very turn. That goes for the other stores
 * of this process too, which may be over the same file.
 */
export const endTurns = (): void => {
  for (const end of open) end()
}
