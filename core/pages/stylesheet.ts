import { Base64 } from "effect/encoding"
import { hashOf } from "../rules/Secret.ts"
import { familiesOf } from "./Font.ts"
import { darkPalette, lightPalette, type Palette, schemeOf } from "./Palette.ts"
import { styles } from "./Styles.ts"
import type { Theme } from "./Theme.ts"

export interface Stylesheet {
  readonly css: string
  /** How the policy names it: `'sha256-…'`. */
  readonly source: string
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const variables = (palette: Palette): string =>
  Object.entries(palette)
    .map(([name, colour]) => `--${kebab(name)}:${colour};`)
    .join("")

const scheme = (palette: Palette): string => `color-scheme:${schemeOf(palette)};${variables(palette)}`

const make = (theme: Theme): Stylesheet => {
  const [bright, dim] = [lightPalette(theme), darkPalette(theme)]
  const shape = `--radius:${theme.radius ?? 8}px;--font:${familiesOf(theme.font)};`
  const css = [
    `:root{${scheme(bright)}${shape}}`,
    `@media (prefers-color-scheme:dark){:root{${scheme(dim)}}}`,
    `@media print{:root{${scheme(lightPalette({}))}}}`,
    styles
  ].join("\n")
  return { css, source: `'sha256-${Base64.encode(hashOf(css))}'` }
}

const made = new WeakMap<Theme, Stylesheet>()

/** Made and hashed once for each theme. */
export const stylesheetOf = (theme: Theme): Stylesheet => {
  const known = made.get(theme)
  if (known !== undefined) return known
  const sheet = make(theme)
  made.set(theme, sheet)
  return sheet
}
