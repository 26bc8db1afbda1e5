const mostDigits = 6

/** Short, but on the same side of its bound as the ratio itself: 0.8482 is no "0.85, at least 0.85". */
export const ratioText = (ratio: number | undefined, holds: (ratio: number) => boolean): string => {
  if (ratio === undefined || Number.isNaN(ratio)) return "not measured"
  const enough = (digits: number): string => {
    const text = ratio.toFixed(digits)
    return holds(Number(text)) === holds(ratio) || digits >= mostDigits ? text : enough(digits + 1)
  }
  return enough(ratio >= 10 ? 0 : ratio < 0.1 ? 3 : 2)
}
