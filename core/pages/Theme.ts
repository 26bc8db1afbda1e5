import { Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { isSafeImage } from "./Html.ts"

/** `#rrggbb`. Nothing else goes into a stylesheet. */
export const Colour = Schema.String.check(Schema.isPattern(/^#[0-9a-f]{6}$/i)).pipe(Schema.brand("Colour"))
export type Colour = typeof Colour.Type

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
  // Three pairs of hexadecimal digits behind a `#` are a Colour.
  return `#${mixed(r, r2, share)}${mixed(g, g2, share)}${mixed(b, b2, share)}` as Colour
}

/** The colour itself where it can be read on all of these, else its nearest tint towards `pole` that can. */
export const legibleOn = (colour: Colour, backgrounds: ReadonlyArray<Colour>, pole: Colour, ratio: number): Colour => {
  for (let percent = 0; percent < 100; percent += 4) {
    const tint = mix(colour, pole, percent / 100)
    if (backgrounds.every((background) => contrast(tint, background) >= ratio)) return tint
  }
  return pole
}

/** Families by name, the first that the device has counts: `Inter, Georgia, serif`. */
const Font = Schema.String.check(
  Schema.isMaxLength(300),
  Schema.isPattern(/^ *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *(?:, *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *)*$/, {
    expected: "names of fonts, of letters, digits, spaces and hyphens, with commas between them"
  })
).pipe(Schema.brand("Font"))
type Font = typeof Font.Type

const generic = new Set(
  "serif sans-serif monospace system-ui ui-serif ui-sans-serif ui-monospace ui-rounded -apple-system".split(" ")
)

/** As a style sheet says it: every name in quotes that is no keyword, and our own list behind it. */
export const familiesOf = (font: Font | undefined): string =>
  [
    ...(font === undefined ? [] : font.split(",").map((name) => name.trim())).map((name) =>
      generic.has(name) ? name : `"${name}"`
    ),
    standard
  ].join(",")

const standard = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif'

/** Every page carries what is not a path or a URL along. */
const longestLogo = 48 * 1024

/** A picture that the page may show under its policy: carried along, a path of this server, or one `https:` address. */
export const Logo = Schema.String.check(
  Schema.isMaxLength(longestLogo),
  Schema.makeFilter(isSafeImage, {
    expected: "a data: image in base64, a path of this server, or an https: URL without a query"
  })
).pipe(Schema.brand("Logo"))
export type Logo = typeof Logo.Type

const tones = {
  /** Buttons, links and focus rings; tinted where it could not be read. */
  accent: Schema.optionalKey(Colour),
  /** Behind everything; cards, lines and hints follow from it. */
  background: Schema.optionalKey(Colour),
  text: Schema.optionalKey(Colour),
  /** A picture, shown 32 pixels high beside the name. */
  logo: Schema.optionalKey(Logo)
}

/** What an embedder may restyle, all of it optional. Contrast is kept for them: what could not be read is tinted. */
export const Theme = Schema.Struct({
  /** Instead of the workspace's name at the top, or nothing. */
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(200))),
  ...tones,
  /** Where the person prefers a dark page. The accent and the logo are the light one's unless they are given. */
  dark: Schema.optionalKey(Schema.Struct(tones)),
  /** How round buttons and fields are, in pixels; cards are rounder. 8 unless it is given. */
  radius: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  /** Families that the person's device has: nothing is loaded from anywhere. */
  font: Schema.optionalKey(Font)
})
export type Theme = typeof Theme.Type

/** A theme as somebody writes it down. A logo may also be the text of an SVG. */
export type ThemeOptions = typeof Theme.Encoded

const utf8 = new TextEncoder()

/** As a picture, an SVG runs no script and loads nothing. */
const withLogo = <A extends { readonly logo?: string }>(of: A): A =>
  of.logo === undefined || !/^\s*<(?:svg|\?xml)[\s>]/.test(of.logo)
    ? of
    : { ...of, logo: `data:image/svg+xml;base64,${Base64.encode(utf8.encode(of.logo))}` }

const decode = Schema.decodeUnknownResult(Theme, { onExcessProperty: "error" })

/** The theme, or what is wrong with it: nothing else gets into a page or its style. */
export const readTheme = (options: ThemeOptions): Result.Result<Theme, string> => {
  const dark = options.dark === undefined ? {} : { dark: withLogo(options.dark) }
  return Result.mapError(decode(withLogo({ ...options, ...dark })), ({ message }) => message.replaceAll(/\s+/g, " "))
}

export const defaultTheme: Theme = {}

export const defaultAccent: Colour = Colour.make("#3a4fc4")
