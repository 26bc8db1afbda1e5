import { Schema } from "effect"

/** Families by name, the first that the device has counts: `Inter, Georgia, serif`. */
export const Font = Schema.String.check(
  Schema.isMaxLength(300),
  Schema.isPattern(/^ *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *(?:, *[A-Za-z][A-Za-z0-9-]*(?: [A-Za-z0-9-]+)* *)*$/, {
    expected: "names of fonts, of letters, digits, spaces and hyphens, with commas between them"
  })
).pipe(Schema.brand("Font"))
export type Font = typeof Font.Type

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
