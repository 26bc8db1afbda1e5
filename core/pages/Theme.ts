import { Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { isSafeImage } from "./Html.ts"

/** `#rrggbb`: no other form is written into a stylesheet. */
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

/** Font families; the device takes the first that it has: `Inter, Georgia, serif`. */
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

/** For the stylesheet: names in quotes unless they are keywords, then the default fonts. */
export const familiesOf = (font: Font | undefined): string =>
  [
    ...(font === undefined ? [] : font.split(",").map((name) => name.trim())).map((name) =>
      generic.has(name) ? name : `"${name}"`
    ),
    standard
  ].join(",")

const standard = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif'

/** Each page contains a logo that is not a path or URL, so its size is limited. */
const longestLogo = 48 * 1024

/** A picture that the policy allows: inline, a path of this server, or one `https:` address. */
export const Logo = Schema.String.check(
  Schema.isMaxLength(longestLogo),
  Schema.makeFilter(isSafeImage, {
    expected: "a data: image in base64, a path of this server, or an https: URL without a query"
  })
).pipe(Schema.brand("Logo"))
export type Logo = typeof Logo.Type

const tones = {
  /** Buttons, links and focus rings; tinted if it is not readable. */
  accent: Schema.optionalKey(Colour),
  /** The background of the page; cards, lines and hints follow from it. */
  background: Schema.optionalKey(Colour),
  text: Schema.optionalKey(Colour),
  /** A picture, shown 32 pixels high beside the name. */
  logo: Schema.optionalKey(Logo)
}

/** The look of pages, all of it optional. A colour that is not readable is tinted. */
export const Theme = Schema.Struct({
  /** In place of the workspace's name. */
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(200))),
  ...tones,
  /** For dark pages. Accent and logo default to those of the light page. */
  dark: Schema.optionalKey(Schema.Struct(tones)),
  /** The radius of buttons and fields in pixels, by default 8; cards have more. */
  radius: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  /** Fonts of the person's device; none is loaded. */
  font: Schema.optionalKey(Font)
})
export type Theme = typeof Theme.Type

/** A theme as a host writes it. The logo may also be the text of an SVG. */
export type ThemeOptions = typeof Theme.Encoded

const utf8 = new TextEncoder()

/** As a picture: an SVG in `img` runs no script and loads nothing. */
const withLogo = <A extends { readonly logo?: string }>(of: A): A =>
  of.logo === undefined || !/^\s*<(?:svg|\?xml)[\s>]/.test(of.logo)
    ? of
    : { ...of, logo: `data:image/svg+xml;base64,${Base64.encode(utf8.encode(of.logo))}` }

const decode = Schema.decodeUnknownResult(Theme, { onExcessProperty: "error" })

/** The checked theme, or its first problem. */
export const readTheme = (options: ThemeOptions): Result.Result<Theme, string> => {
  const dark = options.dark === undefined ? {} : { dark: withLogo(options.dark) }
  return Result.mapError(decode(withLogo({ ...options, ...dark })), ({ message }) => message.replaceAll(/\s+/g, " "))
}

export const defaultTheme: Theme = {}

export const defaultAccent: Colour = Colour.make("#3a4fc4")
