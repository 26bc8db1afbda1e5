import { describe, expect, test } from "bun:test"
import { contrast, darkPalette, lightPalette, type Palette, schemeOf } from "../../core/pages/Palette.ts"
import { Colour, defaultTheme } from "../../core/workspace/Theme.ts"
import { seeded } from "./seeded.ts"

type Pair = readonly [front: keyof Palette, back: keyof Palette]

/** WCAG 1.4.3. */
const texts: ReadonlyArray<Pair> = [
  ...(["canvas", "surface", "sunken"] as const).flatMap(
    (back): ReadonlyArray<Pair> => [
      ["text", back],
      ["muted", back],
      ["link", back],
      ["danger", back]
    ]
  ),
  ["onBrand", "brand"],
  ["onBrand", "brandHover"],
  ["danger", "dangerWash"],
  ["notice", "noticeWash"],
  ["good", "goodWash"]
]

/** WCAG 1.4.11 and 2.4.13: what shows where a control is, and which one has the focus. */
const edges: ReadonlyArray<Pair> = [
  ["edge", "surface"],
  ["edge", "canvas"],
  ["brand", "surface"],
  ["focus", "surface"],
  ["focus", "canvas"],
  ["focus", "sunken"],
  ["good", "surface"],
  ["danger", "surface"]
]

const check = (palette: Palette, because: string): void => {
  for (const [pairs, least] of [
    [texts, 4.5],
    [edges, 3]
  ] as const) {
    for (const [front, back] of pairs) {
      const ratio = contrast(palette[front], palette[back])
      if (ratio < least) throw new Error(`${because}: ${front} on ${back} is ${ratio.toFixed(2)}, not ${least}`)
    }
  }
}

describe("contrast", () => {
  test("is computed as WCAG 2.2 defines it", () => {
    const [black, white, grey] = [Colour.make("#000000"), Colour.make("#ffffff"), Colour.make("#777777")]
    expect(contrast(black, white)).toBeCloseTo(21, 5)
    expect(contrast(white, black)).toBeCloseTo(21, 5)
    expect(contrast(grey, white)).toBeCloseTo(4.478, 3)
    expect(contrast(grey, grey)).toBe(1)
  })

  test("the colours that we ship are AA, light and dark", () => {
    check(lightPalette(defaultTheme), "light")
    check(darkPalette(defaultTheme), "dark")
  })

  test("so they are with any brand colour", () => {
    const seed = 20261120
    const random = seeded(seed)
    const extremes = ["#000000", "#ffffff", "#ffff00", "#ff0000", "#00ff00", "#0000ff", "#777777", "#808080"]
    const drawn = Array.from(
      { length: 600 },
      () =>
        `#${Math.floor(random() * 0x1000000)
          .toString(16)
          .padStart(6, "0")}`
    )
    for (const text of [...extremes, ...drawn]) {
      const brand = Colour.make(text)
      check(lightPalette({ accent: brand }), `light, brand ${text}, seed ${seed}`)
      check(darkPalette({ accent: brand }), `dark, brand ${text}, seed ${seed}`)
    }
  })

  test("so they are on any background, with any text and any accent", () => {
    const seed = 20261121
    const random = seeded(seed)
    const colour = () => {
      const value = Math.floor(random() * 0x1000000)
      return Colour.make(`#${value.toString(16).padStart(6, "0")}`)
    }
    // The greys where black and white are read equally well are the hardest, so every grey is tried.
    const greys = Array.from({ length: 256 }, (_, level) =>
      Colour.make(`#${level.toString(16).padStart(2, "0").repeat(3)}`)
    )
    const backgrounds = [...greys, ...Array.from({ length: 400 }, colour)]
    for (const background of backgrounds) {
      const tones = { background, accent: colour(), ...(random() < 0.5 ? { text: colour() } : {}) }
      const because = `${JSON.stringify(tones)}, seed ${seed}`
      check(lightPalette(tones), `light ${because}`)
      check(darkPalette({ dark: tones }), `dark ${because}`)
      expect(lightPalette(tones).canvas).toBe(background)
    }
  })

  test("a background and a text that can be read are kept as they are, and the dark page is its own", () => {
    const [background, text] = [Colour.make("#fff8ef"), Colour.make("#3b2a1a")]
    expect(lightPalette({ background, text })).toMatchObject({ canvas: background, text })
    expect(darkPalette({ background, text })).toEqual(darkPalette(defaultTheme))
    expect(schemeOf(lightPalette({ background }))).toBe("light")
    expect(schemeOf(lightPalette({ background: Colour.make("#10131a") }))).toBe("dark")
  })

  test("a brand that can be read is kept as it is", () => {
    const brand = Colour.make("#0b6e4f")
    expect(lightPalette({ accent: brand }).brand).toBe(brand)
    expect(lightPalette({ accent: brand }).link).toBe(brand)
  })

  test("nothing but #rrggbb is a colour, so a theme cannot write style rules", () => {
    for (const text of ["red", "#fff", "#12345g", "#123456;}body{", "url(x)", "#1234567"]) {
      expect(() => Colour.make(text)).toThrow()
    }
  })
})
