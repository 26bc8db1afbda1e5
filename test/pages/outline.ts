import { Array as Arrays } from "effect"
import type { Document } from "../../core/pages/Layout.ts"
import { page } from "../../core/pages/pageAnswer.ts"
import { gallery, placeFor } from "./gallery.ts"
import { decode } from "./parse.ts"

/** Says nothing of its own: what stands in it belongs to what it stands in. */
const through = new Set(["body", "div", "ul", "dl", "header", "main"])
/** Consists of words and is told on one line, with what stands among them. */
const spoken = new Set([
  "title",
  "h1",
  "h2",
  "h3",
  "p",
  "label",
  "legend",
  "option",
  "button",
  "summary",
  "a",
  "dt",
  "dd"
])
const among = new Set(["span", "bdi", "code", "time", "strong", "em"])
const neverClosed = new Set(["input", "br", "img"])
/** Of a class, what a person sees of it. */
const seen = /\b(?:badge|danger|plain|primary|notice-\w+)\b/g
/** Words, and what is the same wherever it stands. */
const leftOut = new Set(["title", "aria-label", "tabindex"])
const usual = new Set(["form method=post", "button type=submit", "input type=text", "details name=confirm"])

type Attributes = ReadonlyArray<readonly [name: string, value: string]>

const attributesOf = (source: string): Attributes =>
  [...source.matchAll(/\s([a-z-]+)(?:="([^"]*)")?/g)].map(([, name = "", value = ""]) => [name, decode(value)])

const attributeOf = (attributes: Attributes, name: string): string =>
  attributes.find(([written]) => written === name)?.[1] ?? ""

const shown = (name: string, attributes: Attributes): string => {
  const parts = attributes.flatMap(([key, value]) => {
    if (key === "class") return (value.match(seen) ?? []).map((one) => `.${one}`)
    if (leftOut.has(key) || usual.has(`${name} ${key}=${value}`)) return []
    return [value === "" ? key : `${key}=${value}`]
  })
  return [name, ...parts].join(" ")
}

/** The links between sections of the settings on one line, the one to this page in brackets. */
const sectionsOf = (nav: string): string => {
  const links = [...nav.matchAll(/<a href="([^"]*)"(?: aria-current="(page)")?>/g)]
  const folder = links[0]?.[1]?.replace(/[^/]*$/, "") ?? ""
  const shown = links.map(([, href = "", here]) => {
    const name = href.startsWith(folder) ? href.slice(folder.length) : href
    return here === undefined ? name : `[${name}]`
  })
  return `<nav><code>${folder}</code> <code>${shown.join(" ")}</code></nav>`
}

/** What browsers are told of a page beside what stands on it. */
const rules = ({ formsEnd, opener, session }: Document): string => {
  const kept = session === undefined ? [] : [`session: ${JSON.stringify(session)}`]
  return [`forms end: ${formsEnd}`, `opener: ${opener}`, ...kept].join(", ")
}

/**
 * What a page consists of, a line each: sections, forms with their hidden fields, other fields, links, lists and facts.
 * What stands in `bdi` and `code` is data and stays as it is. Other words become a number, the same for the same words:
 * so it shows where a page says another thing, and not how it says it.
 */
const outlineOf = (source: string, numbers: Map<string, number>): string => {
  const lines: Array<string> = []
  const open: Array<{ readonly name: string; readonly isKept: boolean }> = []
  let speaking: string | undefined
  let words = ""
  const numbered = (text: string): string => {
    if (!/[\p{L}\p{N}]/u.test(text)) return text
    if (!numbers.has(text)) numbers.set(text, numbers.size + 1)
    return `#${numbers.get(text)}`
  }
  /** Part by part, so that it shows where one of them is not there. */
  const inNumbers = (text: string): string =>
    text
      .replaceAll(/\s+/g, " ")
      .trim()
      .split(/([,:;] )/)
      .map(numbered)
      .join("")
  const finish = (): void => {
    const parts = words.split(/(‹[^›]*›|\{[^}]*\})/).map((part, index) => (index % 2 === 1 ? part : inNumbers(part)))
    const line = parts.filter((part) => part !== "").join(" ")
    words = ""
    if (line !== "") lines.push(speaking === undefined ? indented(line) : `${lines.pop()}: ${line}`)
    speaking = undefined
  }
  const indented = (line: string) => "  ".repeat(open.filter(({ isKept }) => isKept).length) + line
  const enter = (name: string, attributes: Attributes): void => {
    const line = shown(name, attributes)
    if (name === "bdi" || name === "code") words += "‹"
    else if (name === "time") words += `{${attributeOf(attributes, "datetime")}}`
    else if (among.has(name)) words += line === name ? "" : `{${line.slice(name.length + 1)}}`
    else {
      finish()
      const isKept = !through.has(name) || line !== name
      if (name === "input" && attributeOf(attributes, "type") === "hidden") {
        lines.push(`${lines.pop()} ${attributeOf(attributes, "name")}=${attributeOf(attributes, "value")}`)
      } else if (isKept) lines.push(indented(line))
      if (spoken.has(name)) speaking = name
      if (!neverClosed.has(name)) open.push({ name, isKept })
    }
  }
  const leave = (name: string): void => {
    if (name === "bdi" || name === "code") words += "›"
    if (among.has(name)) return
    finish()
    open.pop()
  }
  const body = source
    .replace(/[\s\S]*<title>([\s\S]*?)<\/title>[\s\S]*?<body/, "<title>$1</title><body")
    .replaceAll(/<(style|script|svg)[^>]*>[\s\S]*?<\/\1>|<wbr>|<\/html>/g, "")
    .replaceAll(/<nav class="sections"[\s\S]*?<\/nav>/g, sectionsOf)
  for (const [token, slash = "", name = "", rest = ""] of body.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>|[^<]+/g)) {
    if (name === "") words += decode(token)
    else if (slash === "") enter(name, attributesOf(rest))
    else leave(name)
  }
  return `${lines.join("\n")}\n`
}

/** By what pages have in common: a section of the settings, or how their names begin. */
const groupOf = (name: string): string => /^settings-[a-z]+|^[a-z]+/.exec(name)?.[0] ?? name

/** The outlines of all pages of the gallery, those of one group together. */
export const outlines = (): Readonly<Record<string, string>> => {
  const place = placeFor((text) => text)
  const groups = Object.entries(Arrays.groupBy(gallery(), ([name]) => groupOf(name)))
  return Object.fromEntries(
    groups.map(([group, pages]) => {
      const numbers = new Map<string, number>()
      const texts = pages.map(
        ([name, document]) =>
          `== ${name}\n${rules(document)}\n${outlineOf(page(200, document, { place }).body, numbers)}`
      )
      return [group, texts.join("\n")]
    })
  )
}
