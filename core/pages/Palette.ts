import { Colour, type Theme } from "../workspace/Theme.ts"

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
const legibleOn = (colour: Colour, backgrounds: ReadonlyArray<Colour>, pole: Colour, ratio: number): Colour => {
  for (let percent = 0; percent < 100; percent += 4) {
    const tint = mix(colour, pole, percent / 100)
    if (backgrounds.every((background) => contrast(tint, background) >= ratio)) return tint
  }
  return pole
}

const hex = (text: string): Colour => Colour.make(text)
const white = hex("#ffffff")
const black = hex("#000000")

const defaultAccent: Colour = hex("#3a4fc4")

/** Every colour except those of the accent. */
interface Ground {
  readonly canvas: Colour
  readonly surface: Colour
  readonly sunken: Colour
  readonly text: Colour
  readonly muted: Colour
  readonly line: Colour
  /** WCAG 1.4.11: the border of fields and buttons has a contrast of 3:1. */
  readonly edge: Colour
  readonly danger: Colour
  readonly dangerWash: Colour
  readonly notice: Colour
  readonly noticeWash: Colour
  readonly good: Colour
  readonly goodWash: Colour
}

const light: Ground = {
  canvas: hex("#f6f6f4"),
  surface: white,
  sunken: hex("#f4f4f1"),
  text: hex("#1a1a1f"),
  muted: hex("#5c5d66"),
  line: hex("#e4e4df"),
  edge: hex("#8b8c94"),
  danger: hex("#b3261e"),
  dangerWash: hex("#fdf0ee"),
  notice: hex("#6b4a00"),
  noticeWash: hex("#fdf5e0"),
  good: hex("#1b6338"),
  goodWash: hex("#ebf6ee")
}

const dark: Ground = {
  canvas: hex("#101114"),
  surface: hex("#18191d"),
  sunken: hex("#202126"),
  text: hex("#ededf0"),
  muted: hex("#a3a4ae"),
  line: hex("#2d2e35"),
  edge: hex("#74757f"),
  danger: hex("#ff9c92"),
  dangerWash: hex("#351b1a"),
  notice: hex("#f0cb7d"),
  noticeWash: hex("#2f2613"),
  good: hex("#86d9a4"),
  goodWash: hex("#16291d")
}

/** Black or white: one of the two always has a contrast of 4.58:1 or more. */
const poleOn = (colour: Colour): Colour => (contrast(black, colour) >= contrast(white, colour) ? black : white)

/** WCAG 1.4.3: text has a contrast of 4.5:1. WCAG 1.4.11: other parts have 3:1. */
const readable = 4.5
const visible = 3

const withText = (ground: Ground, text: Colour): Ground => {
  const grounds = [ground.canvas, ground.surface, ground.sunken]
  const pole = poleOn(ground.canvas)
  const own = legibleOn(text, grounds, pole, readable)
  return { ...ground, text: own, muted: legibleOn(mix(own, ground.surface, 0.32), grounds, pole, readable) }
}

/** The colours that follow from a background; `like` gives danger and success their hue. */
const groundOn = (background: Colour): Ground => {
  const pole = poleOn(background)
  const like = pole === black ? light : dark
  /** Tinted towards another colour, as far as text on it stays readable. */
  const shade = (towards: Colour, share: number): Colour => {
    const shaded = mix(background, towards, share)
    return contrast(pole, shaded) >= readable ? shaded : background
  }
  const surface = pole === black ? shade(white, 0.75) : shade(white, 0.05)
  const sunken = pole === black ? shade(black, 0.03) : shade(white, 0.09)
  const grounds = [background, surface, sunken]
  const signal = (of: Colour, washed: Colour): readonly [colour: Colour, wash: Colour] => {
    const tinged = mix(surface, washed, 0.8)
    const wash = contrast(pole, tinged) >= readable ? tinged : surface
    return [legibleOn(of, [...grounds, wash], pole, readable), wash]
  }
  const [danger, dangerWash] = signal(like.danger, like.dangerWash)
  const [notice, noticeWash] = signal(like.notice, like.noticeWash)
  const [good, goodWash] = signal(like.good, like.goodWash)
  const bare: Ground = {
    canvas: background,
    surface,
    sunken,
    text: like.text,
    muted: like.muted,
    line: mix(surface, pole, 0.12),
    edge: legibleOn(mix(surface, pole, 0.4), grounds, pole, visible),
    danger,
    dangerWash,
    notice,
    noticeWash,
    good,
    goodWash
  }
  return withText(bare, like.text)
}

/** The colours for the background and text of a theme, or the default ones. */
const groundOf = (
  own: Ground,
  { background, text }: { readonly background?: Colour; readonly text?: Colour }
): Ground => {
  const ground = background === undefined ? own : groundOn(background)
  return text === undefined ? ground : withText(ground, text)
}

/** Every colour of a page, by purpose. */
export interface Palette extends Ground {
  readonly brand: Colour
  readonly brandHover: Colour
  readonly onBrand: Colour
  /** The brand colour as text: links, the current page. */
  readonly link: Colour
  readonly focus: Colour
}

const branded = (ground: Ground, accent: Colour): Palette => {
  const grounds = [ground.canvas, ground.surface, ground.sunken]
  const pole = poleOn(ground.canvas)
  const filled = legibleOn(accent, grounds, pole, visible)
  const onBrand = contrast(white, filled) >= readable ? white : black
  return {
    ...ground,
    brand: filled,
    brandHover: mix(filled, onBrand === white ? black : white, 0.14),
    onBrand,
    link: legibleOn(accent, grounds, pole, readable),
    focus: filled
  }
}

/** The light and the dark palette of a theme; both keep WCAG AA for any colours. */
export const lightPalette = (theme: Theme): Palette => branded(groundOf(light, theme), theme.accent ?? defaultAccent)

export const darkPalette = (theme: Theme): Palette =>
  branded(groundOf(dark, theme.dark ?? {}), theme.dark?.accent ?? theme.accent ?? defaultAccent)

/** The colour scheme of the browser's own controls. */
export const schemeOf = (palette: Palette): "light" | "dark" => (poleOn(palette.canvas) === black ? "light" : "dark")
