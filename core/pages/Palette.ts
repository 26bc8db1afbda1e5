import { type Colour, contrast, legibleOn, mix } from "./Colour.ts"
import { black, dark, type Ground, groundOf, light, poleOn, readable, visible, white } from "./Ground.ts"
import { defaultAccent, type Theme } from "./Theme.ts"

/** Every colour of a page, by what it is for. */
export interface Palette extends Ground {
  readonly brand: Colour
  readonly brandHover: Colour
  readonly onBrand: Colour
  /** The brand where it is text: links, the current page. */
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

/** A few colours in, two palettes out that keep WCAG AA whatever the colours are. */
export const lightPalette = (theme: Theme): Palette => branded(groundOf(light, theme), theme.accent ?? defaultAccent)

export const darkPalette = (theme: Theme): Palette =>
  branded(groundOf(dark, theme.dark ?? {}), theme.dark?.accent ?? theme.accent ?? defaultAccent)

/** What the browser's own controls have to be like. */
export const schemeOf = (palette: Palette): "light" | "dark" => (poleOn(palette.canvas) === black ? "light" : "dark")
