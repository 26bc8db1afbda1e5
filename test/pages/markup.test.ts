import { describe, expect, test } from "bun:test"
import { page } from "../../core/pages/pageAnswer.ts"
import { gallery, placeFor, type Say } from "./gallery.ts"
import { parse, type Tag } from "./parse.ts"
import { pick, seeded } from "./seeded.ts"

const pagesSaying = (say: Say): ReadonlyMap<string, string> =>
  new Map([...gallery(say)].map(([name, document]) => [name, page(200, document, { place: placeFor(say) }).body]))

const plain = pagesSaying((text) => text)
const names = [...plain.keys()]
const read = (name: string) => parse(plain.get(name) ?? "")
const all = (tags: ReadonlyArray<Tag>, name: string) => tags.filter((tag) => tag.name === name)

const hostileParts = [
  "<script>alert(1)</script>",
  "</title></style></textarea></bdi>",
  "<img src=x onerror=alert(1)>",
  `"`,
  `'`,
  "`",
  ">",
  "<",
  "</",
  "<!--",
  "-->",
  "]]>",
  "&",
  "&lt;script&gt;",
  "&#60;",
  ` onmouseover="x" `,
  " autofocus onfocus=x ",
  "/>",
  "=",
  "{%x%}",
  "{{x}}",
  "\0",
  "\u000b",
  "\u0085",
  "\u2028",
  "\u202e",
  "\ud83d",
  "\ufffe",
  "\n\r\t",
  "𝒳é",
  "<base href=//evil>",
  "<meta http-equiv=refresh content=0>"
] as const

/** Starts so that no reading of it is a URL: where a page takes a URL apart, both sides take the same turn. */
const hostile = (random: () => number): string =>
  `x ${Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick(random, hostileParts)).join("")}`

/** Without the places where an address may break: how many there are follows from the address. */
const shape = (source: string): ReadonlyArray<string> =>
  parse(source)
    .tags.filter(({ name, attributes }) => name !== "wbr" || attributes.size > 0)
    .map((tag) => [...tag.within, tag.name, ...tag.attributes.keys()].join(" "))

describe("whatever the data says", () => {
  const expected = new Map([...pagesSaying(() => "x plain")].map(([name, source]) => [name, shape(source)]))

  for (let seed = 1; seed <= 40; seed++) {
    test(`no tag and no attribute appears that the template did not write (seed ${seed})`, () => {
      const random = seeded(seed)
      for (const [name, source] of pagesSaying(() => hostile(random))) {
        expect({ name, shape: shape(source) }).toEqual({ name, shape: expected.get(name) ?? [] })
      }
    })
  }

  test("no address runs a script or leaves by a scheme of its own", () => {
    for (const url of ["javascript:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x", "JAVASCRIPT:x"]) {
      for (const source of pagesSaying(() => url).values()) {
        for (const { name, attributes } of parse(source).tags) {
          if (name === "link") continue
          for (const attribute of ["href", "src", "action"]) {
            expect(attributes.get(attribute) ?? "#").toMatch(/^(?:#|\/(?!\/))/)
          }
        }
      }
    }
  })
})

describe.each(names)("%s", (name) => {
  test("is well-formed, with one main and one h1", () => {
    const { tags } = read(name)
    expect(all(tags, "main")).toHaveLength(1)
    expect(all(tags, "h1")).toHaveLength(1)
    expect(all(tags, "html")[0]?.attributes.get("lang")).toBe("en")
  })

  test("has no script, no inline style and nothing loaded from elsewhere", () => {
    for (const tag of read(name).tags) {
      expect(["script", "iframe", "object", "embed", "base", "form-associated"]).not.toContain(tag.name)
      for (const attribute of tag.attributes.keys()) expect(attribute).not.toMatch(/^(?:on|style$|srcset$|ping$)/)
      if (tag.name === "link") expect(tag.attributes.get("href")).toStartWith("data:image/svg+xml;base64,")
      expect(tag.attributes.has("src")).toBe(false)
    }
  })

  test("every id is there once, and every reference finds one", () => {
    const { tags } = read(name)
    const ids = tags.flatMap(({ attributes }) => attributes.get("id") ?? [])
    expect(new Set(ids).size).toBe(ids.length)
    for (const { attributes } of tags) {
      for (const reference of ["for", "aria-labelledby", "aria-describedby"]) {
        for (const id of attributes.get(reference)?.split(" ") ?? []) expect(ids).toContain(id)
      }
    }
  })

  test("one element at most has the focus from the start, and the first with a problem before any other", () => {
    const { tags } = read(name)
    const focused = tags.filter(({ attributes }) => attributes.has("autofocus"))
    expect(focused.length).toBeLessThanOrEqual(1)
    const wrong = tags.find(({ attributes }) => attributes.get("aria-invalid") === "true")
    if (wrong !== undefined) expect(focused).toEqual([wrong])
  })

  test("every form that posts carries the csrf value, and every other only searches", () => {
    const source = plain.get(name) ?? ""
    for (const form of source.match(/<form[\s\S]*?<\/form>/g) ?? []) {
      const search = form.startsWith(`<form method="get"`)
      expect(search).toBe(form.includes(`role="search"`))
      expect(form.includes(`<input type="hidden" name="csrf" value="csrf-value">`)).toBe(!search)
      if (!search) expect(form).toStartWith(`<form method="post" action="/t/northwind/`)
    }
    expect(source.split("<form").length).toBe((source.match(/<form[\s\S]*?<\/form>/g) ?? []).length + 1)
  })
})

describe("what other programs rely on", () => {
  const fields = (name: string) =>
    read(name)
      .tags.filter(({ name }) => name === "input")
      .map(({ attributes }) => attributes.get("name"))

  test("login asks for email and password and carries csrf and return_to", () => {
    expect(fields("login")).toEqual(["csrf", "return_to", "email", "password"])
    const autocomplete = read("login").tags.map(({ attributes }) => attributes.get("autocomplete"))
    expect(autocomplete).toContain("username")
    expect(autocomplete).toContain("current-password")
    expect(plain.get("login-problem")).toContain(`role="alert"`)
  })

  test("an email is typed on a keyboard for it, and no browser refuses or rewrites it", () => {
    const emails = names.flatMap((name) =>
      read(name).tags.filter(({ attributes }) => attributes.get("name") === "email")
    )
    expect(emails.length).toBeGreaterThanOrEqual(6)
    for (const { attributes } of emails) {
      const said = ["type", "inputmode", "autocapitalize", "spellcheck"].map((name) => attributes.get(name))
      expect(said).toEqual(["text", "email", "none", "false"])
    }
  })

  test("consent is decided by buttons named decision and carries csrf, ticket and request", () => {
    expect(fields("consent")).toEqual(["csrf", "ticket", "acknowledged"])
    expect(fields("consent-app")).toEqual(["csrf", "ticket"])
    const decisions = all(read("consent").tags, "button").map(({ attributes }) => [
      attributes.get("type"),
      attributes.get("name"),
      attributes.get("value")
    ])
    expect(decisions).toEqual([
      ["submit", "decision", "deny"],
      ["submit", "decision", "approve"]
    ])
  })

  test("consent says who asks, where it returns, for what and as whom", () => {
    const { text } = read("consent")
    for (const said of [
      "Acme Assistant",
      "assistant.example",
      "Read and change everything",
      "See your name",
      "ada@northwind.example"
    ]) {
      expect(text).toContain(said)
    }
    expect(text).toContain("2 minutes ago")
    const cautions = (page: string) =>
      read(page).tags.filter(({ attributes }) => attributes.get("class")?.includes("notice-caution")).length
    expect([cautions("consent"), cautions("consent-app")]).toEqual([1, 0])
    expect(read("consent-app").text).toContain("com.example.ledger:")
    expect(read("consent-loopback").text).toContain("127.0.0.1:53124")
    expect(read("consent-loopback").text).toContain("http://127.0.0.1:3000/t/northwind/mcp")
  })

  test("a client's name is bounded and without direction characters", () => {
    const { text } = read("consent-hostile")
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
    expect(text).toContain("evil.example:8443")
    expect(text).not.toContain("verylongword")
  })

  test("settings mark the current page, and show members no page that is not theirs", () => {
    const current = read("settings-keys").tags.filter(({ attributes }) => attributes.get("aria-current") === "page")
    expect(current.map(({ attributes }) => attributes.get("href"))).toEqual(["/t/northwind/settings/keys"])
    const links = all(read("settings-apps-empty").tags, "a").map(({ attributes }) => attributes.get("href"))
    expect(links.filter((href) => href?.includes("/settings/"))).toEqual([
      "/t/northwind/settings/profile",
      "/t/northwind/settings/sessions",
      "/t/northwind/settings/apps"
    ])
  })

  test("a cursor and a search survive the way to the next page", () => {
    const hrefs = all(read("settings-apps").tags, "a").map(({ attributes }) => attributes.get("href"))
    expect(hrefs).toContain("/t/northwind/settings/apps?after=cursor%26%3D2")
  })
})
