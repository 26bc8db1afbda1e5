import { leadsToKnownProgram } from "../rules/RedirectUri.ts"
import { isSafeImage } from "../workspace/Theme.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

/** Safe between tags and inside quotes. Characters that HTML forbids become U+FFFD. */
const escapeText = (text: string): string =>
  text
    .replace(/[&<>"'`]/g, (character) => entities[character] ?? "")
    .replace(/[^\t\n\r\P{Cc}]|\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd")

/** A redirect URI or a path of this server: no `javascript:`, `data:`, `//host` or `/\host`. */
const harmless = /^(?:$|#|\/(?![/\\])|https?:\/\/|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:)/i

/** A URL that a link or form may have. */
const safeUrl = (url: string): string =>
  (harmless.test(url) || leadsToKnownProgram(url)) && !/[\s\p{Cc}]/u.test(url) ? url : "#"

const safeImage = (url: string): string => (isSafeImage(url) ? url : "data:,")

/** The place of an interpolation: between tags, in a tag, in quotes, or at the start of a quoted URL. */
type HoleKind = "text" | "tag" | "quoted" | "url" | "image"

type State = "text" | "tag" | "double" | "single"

const step = (state: State, character: string): State => {
  switch (state) {
    case "text":
      return character === "<" ? "tag" : "text"
    case "tag":
      return character === ">" ? "text" : character === '"' ? "double" : character === "'" ? "single" : "tag"
    case "double":
      return character === '"' ? "tag" : "double"
    case "single":
      return character === "'" ? "tag" : "single"
  }
}

const startsImage = /(?:\s(?:src|srcset)|\srel="icon" href)=["']$/i
const startsUrl = /\s(?:href|action|formaction)=["']$/i

const scan = (strings: TemplateStringsArray): ReadonlyArray<HoleKind> => {
  if (strings.some((part) => /<(?:script|style|iframe|object|embed|base|!--)/i.test(part))) {
    throw new TypeError("A template writes no script, style, frame or comment")
  }
  let state: State = "text"
  return strings.slice(0, -1).map((part) => {
    for (const character of part) state = step(state, character)
    if (state === "text" || state === "tag") return state
    if (startsImage.test(part)) return "image"
    return startsUrl.test(part) ? "url" : "quoted"
  })
}

const scanned = new WeakMap<TemplateStringsArray, ReadonlyArray<HoleKind>>()

/** Cached by template: its strings are the same object at each call. */
const holesOf = (strings: TemplateStringsArray): ReadonlyArray<HoleKind> => {
  const known = scanned.get(strings)
  if (known !== undefined) return known
  const kinds = scan(strings)
  scanned.set(strings, kinds)
  return kinds
}

/** Not exported, so that only the functions of this file make HTML. */
class Content {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  get text(): string {
    return this.#text
  }
}

class AttributeList {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  get text(): string {
    return this.#text
  }
}

/** A piece of a page. */
export type Html = Content
/** Attributes of a tag. */
type Attributes = AttributeList

/** An interpolated value: text is escaped, HTML kept, a list joined; `undefined` and `false` are empty. */
export type Hole = string | number | Content | AttributeList | undefined | false | ReadonlyArray<Hole>

const inText = (hole: Hole): string => {
  if (hole === undefined || hole === false) return ""
  if (hole instanceof Content) return hole.text
  if (hole instanceof AttributeList) throw new TypeError("Attributes belong inside a tag")
  if (typeof hole === "string" || typeof hole === "number") return escapeText(String(hole))
  return hole.map(inText).join("")
}

const inTag = (hole: Hole): string => {
  if (hole === undefined || hole === false) return ""
  if (hole instanceof AttributeList) return hole.text
  throw new TypeError("Inside a tag only attributes() may be interpolated; quote a value to interpolate text")
}

const inQuotes = (hole: Hole): string => {
  if (typeof hole === "string" || typeof hole === "number") return escapeText(String(hole))
  throw new TypeError("Inside quotes only text and numbers may be interpolated")
}

const fill = (kind: HoleKind, hole: Hole): string => {
  switch (kind) {
    case "text":
      return inText(hole)
    case "tag":
      return inTag(hole)
    case "quoted":
      return inQuotes(hole)
    case "url":
      return typeof hole === "string" ? escapeText(safeUrl(hole)) : inQuotes(hole)
    case "image":
      return typeof hole === "string" ? escapeText(safeImage(hole)) : inQuotes(hole)
  }
}

/**
 * The only way to write HTML. What a hole may take follows from where it stands, so a mistake is the
 * template's, not the data's: the first render throws, whatever it was given.
 */
export const html = (strings: TemplateStringsArray, ...holes: ReadonlyArray<Hole>): Html => {
  const kinds = holesOf(strings)
  let text = strings[0] ?? ""
  for (const [index, kind] of kinds.entries()) text += fill(kind, holes[index]) + (strings[index + 1] ?? "")
  return new Content(text)
}

type AttributeName =
  | "aria-current"
  | "aria-describedby"
  | "aria-invalid"
  | "autocapitalize"
  | "autocomplete"
  | "autofocus"
  | "checked"
  | "class"
  | "id"
  | "inputmode"
  | "maxlength"
  | "minlength"
  | "readonly"
  | "required"
  | "selected"
  | "spellcheck"
  | "value"

/** Attributes that may be absent: `true` writes the name alone, `undefined` and `false` write nothing. */
export const attributes = (
  values: { readonly [name in AttributeName]?: string | number | boolean | undefined }
): Attributes =>
  new AttributeList(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== false)
      .map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escapeText(String(value))}"`))
      .join("")
  )

/** A style element. Its text cannot be escaped, so text that could end it is refused. */
export const stylesheetTag = (css: string): Html => {
  if (css.includes("<")) throw new TypeError("A stylesheet holds no <")
  return new Content(`<style>${css}</style>`)
}

/** A script element with its `data-` attributes. Its text cannot be escaped, so text that could end it is refused. */
export const scriptTag = (script: string, data: { readonly [name: string]: string | undefined }): Html => {
  if (script.includes("<")) throw new TypeError("A script holds no <")
  const given = Object.entries(data).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return new Content(
    `<script${given.map(([name, value]) => ` data-${name}="${escapeText(value)}"`).join("")}>${script}</script>`
  )
}

/** The text of a page. */
export const render = (content: Html): string => content.text

/** An address with line breaks allowed after a dot, a slash, a colon or an @, but not within an IP address, or before a port. */
export const breakable = (address: string): Html =>
  html`${address.split(/(?<=[@./:])(?!\d)/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`
