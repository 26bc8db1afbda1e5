/**
 * To be asked at each arrival: does it come alone? It does if it is the first of its turn of the event loop, after a turn
 * in which no two came. So the first of a crowd counts as alone too, and the first of those that go on coming does not.
 */
export const watchArrivals = (): (() => boolean) => {
  let arrived = 0
  let wasCrowd = false
  const endTurn = () => {
    wasCrowd = arrived > 1
    arrived = 0
  }
  return () => {
    arrived++
    if (arrived === 1) setImmediate(endTurn)
    return arrived === 1 && !wasCrowd
  }
}
