import type { Colour } from "../workspace/Theme.ts"

type Channels = readonly [red: number, green: number, blue: number]

const channels = (colour: Colour): Channels => {
  const bits = Number.parseInt(colour.slice(1), 16)
  return [(bits >> 16) & 255, (bits >> 8) & 255, bits & 255]
}

const linear = (channel: number): number => {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

/** WCAG 2.2, relative luminance. */
const luminance = (colour: Colour): number => {
  const [red, green, blue] = channels(colour)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** WCAG 2.2, contrast ratio: 1 to 21. */
export const contrast = (one: Colour, other: Colour): number => {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05)
}

const mixed = (from: number, to: number, share: number): string =>
  Math.round(from + (to - from) * share)
    .toString(16)
    .padStart(2, "0")

/** `share` 0 is the first colour, 1 the second. */
export const mix = (from: Colour, to: Colour, share: number): Colour => {
  const [r, g, b] = channels(from)
  const [r2, g2, b2] = channels(to)
  // Holds: the text is a `#` and three pairs of hexadecimal digits.
  return `#${mixed(r, r2, share)}${mixed(g, g2, share)}${mixed(b, b2, share)}` as Colour
}

/** The colour, tinted towards `pole` as far as needed to be readable on all of these. */
export const legibleOn = (colour: Colour, backgrounds: ReadonlyArray<Colour>, pole: Colour, ratio: number): Colour => {
  for (let percent = 0; percent < 100; percent += 4) {
    const tint = mix(colour, pole, percent / 100)
    if (backgrounds.every((background) => contrast(tint, background) >= ratio)) return tint
  }
  return pole
}
