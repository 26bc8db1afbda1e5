import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { page } from "../../core/pages/pageAnswer.ts"
import { stylesheetOf } from "../../core/pages/stylesheet.ts"
import { loginPage } from "../../core/people/login.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { defaultTheme, readTheme, type Theme, type ThemeOptions } from "../../core/workspace/Theme.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { placeFor } from "./gallery.ts"
import { decode, parse } from "./parse.ts"
import { pick, seeded } from "./seeded.ts"

const picture = "data:image/png;base64,iVBORw0KGgo="
const everything = {
  name: "Northwind Traders",
  accent: "#0b6e4f",
  background: "#fff8ef",
  text: "#3b2a1a",
  logo: "/brand/logo.svg",
  dark: { accent: "#7fe0b8", background: "#10131a", text: "#f4efe6", logo: "https://cdn.northwind.example/dark.svg" },
  radius: 0,
  font: "Inter, Iowan Old Style, serif"
} satisfies ThemeOptions

const themed = (options: ThemeOptions): Theme => Result.getOrThrow(readTheme(options))
const drawn = (theme: Theme) => {
  const place = placeFor((text) => text, theme)
  return page(200, loginPage(place, { csrf: "csrf", returnUrl: "/settings" }), { place })
}
const policyOf = (theme: Theme) =>
  drawn(theme).headers.find(([name]) => name === "content-security-policy")?.[1] ?? "no policy"

describe("a theme", () => {
  test("is a few variables at the top of the style sheet", () => {
    const [first = "", dim = ""] = stylesheetOf(themed(everything)).css.split("\n")
    for (const said of [
      "color-scheme:light",
      "--canvas:#fff8ef",
      "--text:#3b2a1a",
      "--brand:#0b6e4f",
      "--radius:0px",
      '--font:"Inter","Iowan Old Style",serif,system-ui'
    ]) {
      expect(first).toContain(said)
    }
    for (const said of ["color-scheme:dark", "--canvas:#10131a", "--text:#f4efe6", "--brand:#7fe0b8"]) {
      expect(dim).toContain(said)
    }
  })

  test("of nothing is our own", () => {
    expect(stylesheetOf(themed({})).css).toBe(stylesheetOf(defaultTheme).css)
  })

  test("has a logo for either scheme, and the policy admits these two and no others", () => {
    const { body } = drawn(themed(everything))
    expect(body).toContain(
      '<picture><source media="(prefers-color-scheme: dark)" srcset="https://cdn.northwind.example/dark.svg"><img class="logo" src="/brand/logo.svg" alt="" height="32"></picture>'
    )
    expect(body).toContain('<link rel="icon" href="/brand/logo.svg">')
    expect(policyOf(themed(everything))).toContain(
      "; img-src data: 'self' https://cdn.northwind.example/dark.svg; base-uri"
    )
    expect(policyOf(themed({ logo: picture }))).toContain("; img-src data:; base-uri")
  })

  test("takes the text of an SVG for a logo, as a picture that can do nothing", () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert("é")</script></svg>'
    const { logo = "" } = themed({ logo: svg })
    expect(Buffer.from(logo.replace("data:image/svg+xml;base64,", ""), "base64").toString()).toBe(svg)
    expect(drawn(themed({ logo: svg })).body).not.toContain("<script")
  })

  const wrong: ReadonlyArray<readonly [why: string, options: Record<string, unknown>, said: RegExp]> = [
    ["a colour by name", { accent: "red" }, /accent/],
    ["a colour in the dark part", { dark: { background: "#fff" } }, /dark.*background/s],
    ["a word that is not one of its own", { colour: "#ffffff" }, /colour/],
    ["a logo over plain http", { logo: "http://a.example/x.png" }, /an https: URL without a query/],
    ["a logo that is a page", { logo: "data:text/html;base64,AAAA" }, /a data: image/],
    ["a logo that every page would be heavy with", { logo: `data:image/png;base64,${"A".repeat(50_000)}` }, /logo/],
    ["a radius that is no number of pixels", { radius: 4.5 }, /radius/],
    ["a radius beyond reason", { radius: 400 }, /radius/],
    ["a font that goes on with more", { font: 'Inter";}body{display:none' }, /names of fonts/],
    ["a name that is empty", { name: "" }, /name/]
  ]
  test.each([...wrong])("says what is wrong with %s", (_, options, said) => {
    const read = readTheme(options)
    expect(Result.isFailure(read)).toBe(true)
    if (Result.isFailure(read)) expect(read.failure).toMatch(said)
  })
})

/** What would end a value, a rule, an element, a quote or a source of the policy. */
const breakers = [
  "}",
  "{",
  ";",
  ":",
  '"',
  "'",
  ",",
  " ",
  "\\",
  "\n",
  "/*",
  "*/",
  "<",
  ">",
  "</style>",
  "<script>",
  "url(//evil)",
  "@import",
  "expression(",
  "!important",
  "\0",
  "\u2028",
  "é",
  "%22",
  "&quot;",
  "* data:",
  "'unsafe-inline'",
  "x",
  "0",
  "#"
] as const

const tones = /^#[0-9a-f]{6}$/
const values: Readonly<Record<string, RegExp>> = {
  "color-scheme": /^(?:light|dark)$/,
  "--radius": /^\d{1,2}px$/,
  "--font":
    /^(?:(?:"[A-Za-z0-9 -]+"|[a-z-]+),)*system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif$/
}

/** Every line of variables, taken apart: the shape is ours, whatever the theme says. */
const isSound = (line: string): boolean => {
  const inside = /^(?:@media [a-z():-]+\{)?:root\{([^{}]*)\}\}?$/.exec(line)?.[1]
  if (inside === undefined) return false
  return inside
    .split(";")
    .filter((rule) => rule !== "")
    .every((rule) => {
      const [name = "", value = ""] = rule.split(":")
      return (values[name] ?? (name.startsWith("--") ? tones : /^never$/)).test(value) && rule.split(":").length === 2
    })
}

describe("whatever a host writes for a theme", () => {
  const ours = stylesheetOf(defaultTheme).css.split("\n")
  const shape = (body: string) => parse(body).tags.map(({ name, attributes }) => [name, ...attributes.keys()].join(" "))
  const expected = new Map(
    [everything, { ...everything, dark: {} }].map((options) => [
      options.dark !== undefined && "logo" in options.dark,
      shape(drawn(themed(options)).body)
    ])
  )

  for (let seed = 1; seed <= 4; seed++) {
    test(`gets into no rule, no tag and no policy (seed ${seed})`, () => {
      const random = seeded(seed)
      /** The value, or the value with something put into it, in front of it or behind it. */
      const bent = (value: string): string => {
        const at = Math.floor(random() * (value.length + 1))
        return value.slice(0, at) + pick(random, breakers) + value.slice(at + (random() < 0.3 ? 1 : 0))
      }
      const maybe = (value: string) => (random() < 0.2 ? bent(value) : value)
      let accepted = 0
      for (let run = 0; run < 150; run++) {
        const { dark, ...light } = everything
        const tone = (of: typeof dark) => ({
          accent: maybe(of.accent),
          background: maybe(of.background),
          text: maybe(of.text),
          logo: maybe(of.logo)
        })
        const options = {
          ...tone(light),
          name: maybe(light.name),
          font: maybe(light.font),
          radius: random() < 0.1 ? 1e9 : Math.floor(random() * 20),
          dark: random() < 0.5 ? tone(dark) : {}
        }
        const read = readTheme(options)
        if (Result.isFailure(read)) continue
        accepted++
        const theme = read.success
        const lines = stylesheetOf(theme).css.split("\n")
        expect({ options, sound: lines.slice(0, 3).map(isSound) }).toEqual({ options, sound: [true, true, true] })
        expect(lines.slice(3)).toEqual(ours.slice(3))
        const { body } = drawn(theme)
        expect({ options, tags: shape(body) }).toEqual({ options, tags: expected.get("logo" in options.dark) ?? [] })
        const images = / img-src ([^;]*);/.exec(policyOf(theme))?.[1]?.split(" ") ?? []
        const logos: ReadonlyArray<string | undefined> = ["data:", "'self'", theme.logo, theme.dark?.logo]
        expect(images.filter((source) => !logos.includes(source))).toEqual([])
        expect(policyOf(theme).split("; ")).toHaveLength(policyOf(defaultTheme).split("; ").length)
        expect(decode(/<img[^>]* src="([^"]*)"/.exec(body)?.[1] ?? "")).toBe(theme.logo ?? "")
      }
      // A check that let nothing through would have looked at nothing.
      expect(accepted).toBeGreaterThan(15)
    })
  }
})

describe("a workspace with a look of its own", () => {
  const shared = themed({ accent: "#0b6e4f", radius: 0 })
  const pages = Effect.runSync(Pages.pipe(Effect.provide(Pages.layer(shared))))
  const shownFor = (workspace: Workspace) =>
    pages.show(workspace, 200, (place) => loginPage(place, { csrf: "csrf", returnUrl: "/settings" }))
  const plain: Workspace = {
    id: WorkspaceId.make("plain"),
    issuer: Issuer.make("https://plain.example"),
    name: "Plain & Co"
  }
  const own: Workspace = {
    ...plain,
    name: "Own",
    theme: themed({ name: "Northwind", accent: "#b4451f", logo: "https://cdn.own.example/logo.svg" })
  }

  test("is drawn in it, and in nothing of the server's", () => {
    const { body, headers } = shownFor(own)
    expect(body).toContain("--brand:#b4451f")
    expect(body).toContain("--radius:8px")
    expect(body).toContain('src="https://cdn.own.example/logo.svg"')
    expect(body).toContain("<bdi>Northwind</bdi>")
    expect(Object.fromEntries(headers)["content-security-policy"]).toContain(
      "img-src data: https://cdn.own.example/logo.svg;"
    )
  })

  test("is alone in it: the others are drawn in the server's", () => {
    const { body, headers } = shownFor(plain)
    expect(body).toContain("--brand:#0b6e4f")
    expect(body).toContain("<bdi>Plain &amp; Co</bdi>")
    expect(Object.fromEntries(headers)["content-security-policy"]).toContain("img-src data:;")
  })

  test("has the style sheet that its policy names, however many others are drawn between", () => {
    for (let number = 0; number < 700; number++) {
      const accent = `#${(number * 23_456).toString(16).padStart(6, "0")}`
      const { body, headers } = shownFor({ ...own, theme: themed({ accent }) })
      const css = /<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? ""
      expect(Object.fromEntries(headers)["content-security-policy"]).toContain(
        `style-src 'sha256-${new Bun.CryptoHasher("sha256").update(css).digest("base64")}'`
      )
    }
    expect(shownFor(own).body).toContain("--brand:#b4451f")
  })
})
