/**
 * Tells at each arrival whether it comes alone: the first of its turn of the event loop, after a turn in which no two
 * came. The first of a burst counts as alone too. `afterTurn` runs its work once the turn is over: `setImmediate`.
 */
export const detectBursts = (afterTurn: (work: () => void) => unknown): (() => boolean) => {
  let arrived = 0
  let wasBurst = false
  const endTurn = () => {
    wasBurst = arrived > 1
    arrived = 0
  }
  return () => {
    arrived++
    if (arrived === 1) afterTurn(endTurn)
    return arrived === 1 && !wasBurst
  }
}
