import { Schema } from "effect"
import { Colour } from "./Colour.ts"
import { isSafeImage } from "./escape.ts"

/** A picture that the page may show under its policy: carried along, or a path of this server. */
export const Logo = Schema.String.check(
  Schema.makeFilter(isSafeImage, { expected: "a data: image in base64, or a path of this server" })
).pipe(Schema.brand("Logo"))
export type Logo = typeof Logo.Type

/** What an embedder may restyle. Contrast is kept for them. */
export const Theme = Schema.Struct({
  /** Buttons, links and focus rings; tinted where it could not be read. */
  brand: Colour,
  /** Instead of the workspace's name at the top, or nothing. */
  name: Schema.optionalKey(Schema.NonEmptyString),
  /** A picture, shown 32 pixels high beside the name. */
  logo: Schema.optionalKey(Logo)
})
export type Theme = typeof Theme.Type

export const defaultTheme: Theme = { brand: Colour.make("#3a4fc4") }
