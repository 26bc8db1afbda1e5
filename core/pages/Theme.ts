import { Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { Colour } from "./Colour.ts"
import { isSafeImage } from "./escape.ts"
import { Font } from "./Font.ts"

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
