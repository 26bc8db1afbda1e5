import { Result, Schema } from "effect"
import { Base64 } from "effect/encoding"

/** `#rrggbb`: no other form is written into a stylesheet. */
export const Colour = Schema.String.check(Schema.isPattern(/^#[0-9a-f]{6}$/i)).pipe(Schema.brand("Colour"))
export type Colour = typeof Colour.Type

/** No `;`, `,` or quote, which separate sources in a policy or a `srcset`. */
const path = String.raw`\/(?![/\\])[A-Za-z0-9._~!$&()*+=:@%/-]*`
const host = String.raw`(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9](?::\d{1,5})?`

const harmlessImage = new RegExp(
  String.raw`^(?:data:image\/(?:png|svg\+xml|webp|jpeg|gif);base64,[A-Za-z0-9+/=]+|${path}|https:\/\/${host}${path})$`
)

/** A picture of the host: inline, a path of this server, or one address. A client's logo is never shown. */
export const isSafeImage = (url: string): boolean => harmlessImage.test(url)

/** Font families; the device takes the first that it has: `Inter, Georgia, serif`. */
const Font = Schema.String.check(
  Schema.isMaxLength(300),
  Schema.isPattern(/^ *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *(?:, *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *)*$/, {
    expected: "names of fonts, of letters, digits, spaces and hyphens, with commas between them"
  })
).pipe(Schema.brand("Font"))
export type Font = typeof Font.Type

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
