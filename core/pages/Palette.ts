import { Colour, contrast, legibleOn, mix } from "./Colour.ts"

const hex = (text: string): Colour => Colour.make(text)
const white = hex("#ffffff")
const black = hex("#000000")

/** Every colour of a page, by what it is for. */
export interface Palette {
  readonly canvas: Colour
  readonly surface: Colour
  readonly sunken: Colour
  readonly text: Colour
  readonly muted: Colour
  readonly line: Colour
  /** The edge of what one types into or presses: 3:1 (WCAG 1.4.11). */
  readonly edge: Colour
  readonly brand: Colour
  readonly brandHover: Colour
  readonly onBrand: Colour
  /** The brand where it is text: links, the current page. */
  readonly link: Colour
  readonly focus: Colour
  readonly danger: Colour
  readonly dangerWash: Colour
  readonly notice: Colour
  readonly noticeWash: Colour
  readonly good: Colour
  readonly goodWash: Colour
}

type Ground = Omit<Palette, "brand" | "brandHover" | "onBrand" | "link" | "focus">

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

const branded = (ground: Ground, brand: Colour, pole: Colour): Palette => {
  const grounds = [ground.canvas, ground.surface, ground.sunken]
  const filled = legibleOn(brand, grounds, pole, 3)
  const onBrand = contrast(white, filled) >= 4.5 ? white : black
  return {
    ...ground,
    brand: filled,
    brandHover: mix(filled, onBrand === white ? black : white, 0.14),
    onBrand,
    link: legibleOn(brand, grounds, pole, 4.5),
    focus: filled
  }
}

/** One brand colour in, two palettes out that keep WCAG AA whatever the colour is. */
export const lightPalette = (brand: Colour): Palette => branded(light, brand, black)
export const darkPalette = (brand: Colour): Palette => branded(dark, brand, white)
