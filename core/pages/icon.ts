import { Base64 } from "effect/encoding"
import { lightPalette } from "./Palette.ts"
import type { Theme } from "./Theme.ts"

const drawn = (theme: Theme): string => {
  const { brand, onBrand } = lightPalette(theme)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${brand}"/><g fill="${onBrand}"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`
  return `data:image/svg+xml;base64,${Base64.encode(svg)}`
}

const made = new WeakMap<Theme, string>()

/** The picture in the tab: the logo, or our four tiles in the accent. Drawn once for each theme. */
export const iconOf = (theme: Theme): string => {
  if (theme.logo !== undefined) return theme.logo
  const icon = made.get(theme) ?? drawn(theme)
  made.set(theme, icon)
  return icon
}
