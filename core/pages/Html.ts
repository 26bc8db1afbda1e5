import { escapeText, safeImage, safeUrl } from "./escape.ts"
import { type HoleKind, holesOf } from "./holes.ts"

/** Not exported: outside this file only `html`, `attributes` and `stylesheetTag` make HTML. */
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

/** A piece of a page that is HTML already. */
export type Html = Content
/** What may stand inside a tag. */
export type Attributes = AttributeList

/** What may be interpolated: text is escaped, HTML is kept, a list is joined, `undefined` and `false` leave nothing. */
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
  | "open"
  | "placeholder"
  | "readonly"
  | "required"
  | "role"
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

/** A style element. Its text can't be escaped, so whatever could end it early is refused. */
export const stylesheetTag = (css: string): Html => {
  if (css.includes("<")) throw new TypeError("A stylesheet holds no <")
  return new Content(`<style>${css}</style>`)
}

/** The text to send. */
export const render = (content: Html): string => content.text
