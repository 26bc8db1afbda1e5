import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { isSafeImage, readTheme, type ThemeOptions } from "../../core/workspace/Theme.ts"

const isTheme = (options: Record<string, unknown>): boolean => Result.isSuccess(readTheme(options as ThemeOptions))

/** What a member of a theme may be, and what it may not. */
const members: Readonly<Record<string, readonly [may: ReadonlyArray<unknown>, mayNot: ReadonlyArray<unknown>]>> = {
  accent: [
    ["#0b6e4f", "#ABCDEF", "#000000"],
    ["", "red", "#fff", "0b6e4f", "#0b6e4", "#0b6e4f0", "#0b6e4f;", "x#0b6e4f", "#gggggg", "#0b6e4f\n", 7, null]
  ],
  font: [
    [
      "A",
      "Inter",
      " Inter ",
      "   Inter   ",
      "Iowan Old Style",
      "a1-b",
      "Font 2",
      "A 1 2-3",
      "Inter,Georgia",
      "Inter,G",
      "Inter ,  Georgia Pro 2 , serif  ",
      "a".repeat(300)
    ],
    [
      "",
      " ",
      ",",
      "1Inter",
      "-x",
      "(Inter",
      "Inter,",
      "Inter, ",
      ",Inter",
      "Inter,,Georgia",
      "Inter  Old",
      "Inter, Old  Style",
      "Inter, 1x",
      "Inter, -x",
      "Inter!",
      "Inter x!",
      "Inter;x",
      "Inter, G;",
      "Inter, G x;",
      'Inter"',
      "Inter_x",
      "Inter\n",
      "Inter\tOld",
      "Schriftgröße",
      "a".repeat(301)
    ]
  ],
  radius: [
    [0, 8, 20],
    [-1, 21, 1.5, "8", null]
  ],
  name: [
    ["N", "Northwind Traders", "n".repeat(200)],
    ["", "n".repeat(201), 7]
  ],
  logo: [
    ["/logo.svg", `data:image/png;base64,${"A".repeat(48 * 1024 - 22)}`],
    ["", "logo.svg", `data:image/png;base64,${"A".repeat(48 * 1024 - 21)}`, 7]
  ]
}

describe("a theme", () => {
  for (const [name, [may, mayNot]] of Object.entries(members)) {
    test(`may have ${name} of some kinds, and of no others`, () => {
      for (const value of may) expect([value, isTheme({ [name]: value })]).toEqual([value, true])
      for (const value of mayNot) expect([value, isTheme({ [name]: value })]).toEqual([value, false])
    })
  }

  test("has no unknown members, nor has its dark part", () => {
    expect([isTheme({}), isTheme({ dark: {} }), isTheme({ dark: { accent: "#000000", logo: "/x" } })]).toEqual([
      true,
      true,
      true
    ])
    for (const dark of [{ radius: 8 }, { name: "Night" }, { font: "Inter" }, { dark: {} }, { accent: "red" }]) {
      expect([dark, isTheme({ dark })]).toEqual([dark, false])
    }
    for (const other of [{ Accent: "#000000" }, { css: "" }]) expect([other, isTheme(other)]).toEqual([other, false])
  })

  test("takes the text of an SVG for a picture, in light and dark, and no other text", () => {
    const data = (svg: string) => `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`
    for (const svg of [
      '<svg width="1"></svg>',
      "<svg>é</svg>",
      " \n<svg\n></svg>",
      '<?xml version="1.0"?><svg></svg>'
    ]) {
      const theme = { name: "Northwind", dark: { accent: "#000000" } }
      expect<unknown>(readTheme({ ...theme, logo: svg, dark: { ...theme.dark, logo: svg } })).toEqual(
        Result.succeed({ ...theme, logo: data(svg), dark: { ...theme.dark, logo: data(svg) } })
      )
    }
    for (const text of ["<svgs></svgs>", "x<svg></svg>", "<html><svg></svg></html>", "<?xm ?>"]) {
      expect([text, isTheme({ logo: text }), isTheme({ dark: { logo: text } })]).toEqual([text, false, false])
    }
  })
})

test("a picture is inline, a path of this server, or one address, and nothing that ends a source of a policy", () => {
  const safe = [
    ...["png", "svg+xml", "webp", "jpeg", "gif"].map((type) => `data:image/${type};base64,iVBORw0K+/A=`),
    "/",
    "/logo.svg",
    "/a/b-c_d.e~!$&()*+=:@%20",
    "https://cdn.example/",
    "https://cdn.example/a/logo.svg",
    "https://a-b.c1.example:8443/x",
    "https://1.example/x"
  ]
  const unsafe = [
    "",
    "logo.svg",
    "//evil.example/x",
    "/\\evil.example/x",
    "/a b",
    "/a;b",
    "/a,b",
    "/a'b",
    '/a"b',
    "/a?b",
    "/a#b",
    "/ä",
    "/a\n",
    "http://cdn.example/x",
    "https://cdn.example",
    "https://cdn.example//x",
    "https://cdn.example/x?y",
    "https://cdn.example/x;y",
    "https://me@cdn.example/x",
    "https://CDN.example/x",
    "https://localhost/x",
    "https://-a.example/x",
    "https://a-.example/x",
    "https://a.1example/x",
    "https://a.example-/x",
    "https://a..example/x",
    "https://a.e/x",
    "https://a.example:/x",
    "https://a.example:123456/x",
    "https://a.example:x/x",
    " https://cdn.example/x",
    "xhttps://cdn.example/x",
    "data:text/html;base64,AAAA",
    "data:image/png;base64,",
    "data:image/png,AAAA",
    "data:image/png;base64,AA;x",
    "data:image/png;base64,AA A",
    "data:image/bmp;base64,AAAA",
    "xdata:image/png;base64,AAAA",
    "javascript:alert(1)"
  ]
  for (const url of safe) expect([url, isSafeImage(url)]).toEqual([url, true])
  for (const url of unsafe) expect([url, isSafeImage(url)]).toEqual([url, false])
})
