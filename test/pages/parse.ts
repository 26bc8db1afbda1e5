/** An element as a browser would see it, without its text. */
export interface Tag {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  /** The names of the elements that it stands in. */
  readonly within: ReadonlyArray<string>
}

const voidElements = new Set(["meta", "link", "input", "br", "img", "source", "wbr"])

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#96": "`" }

export const decode = (text: string): string =>
  text.replace(/&([^;&\s]*);?/g, (whole, name: string) => {
    const character = entities[name]
    if (character === undefined || !whole.endsWith(";")) throw new Error(`a loose & at ${JSON.stringify(whole)}`)
    return character
  })

const attributePattern = /\s+([a-zA-Z][a-zA-Z-]*)(?:="([^"<>]*)")?/y

const readAttributes = (source: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  attributePattern.lastIndex = 0
  let end = 0
  for (let match = attributePattern.exec(source); match !== null; match = attributePattern.exec(source)) {
    const [, name = "", value = ""] = match
    if (found.has(name)) throw new Error(`${name} twice in <${source}>`)
    found.set(name, decode(value))
    end = attributePattern.lastIndex
  }
  if (!/^\/?$/.test(source.slice(end))) throw new Error(`not an attribute: ${JSON.stringify(source.slice(end))}`)
  return found
}

/**
 * A strict reader of the HTML that we write: double quotes, lower case, everything closed. What a browser
 * would forgive is an error here. Gives the elements in order, and the text between them.
 */
export const parse = (source: string): { readonly tags: ReadonlyArray<Tag>; readonly text: string } => {
  const doctype = "<!doctype html>\n"
  if (!source.startsWith(doctype)) throw new Error("no doctype")
  const tags: Array<Tag> = []
  const open: Array<string> = []
  let text = ""
  let at = doctype.length
  while (at < source.length) {
    const next = source.indexOf("<", at)
    const between = source.slice(at, next === -1 ? source.length : next)
    if (open.at(-1) !== "style") text += decode(between)
    if (between.includes(">") && open.at(-1) !== "style") throw new Error(`a loose > in ${JSON.stringify(between)}`)
    if (next === -1) break
    const end = source.indexOf(">", next)
    const inner = source.slice(next + 1, end)
    at = end + 1
    if (inner.startsWith("/")) {
      const opened = open.pop()
      if (opened !== inner.slice(1)) throw new Error(`</${inner.slice(1)}> closes <${opened}>`)
      continue
    }
    const name = /^[a-z][a-z0-9]*/.exec(inner)?.[0]
    if (name === undefined) throw new Error(`not a tag: <${inner}>`)
    tags.push({ name, attributes: readAttributes(inner.slice(name.length)), within: [...open] })
    if (!voidElements.has(name) && !inner.endsWith("/")) open.push(name)
  }
  if (open.length > 0) throw new Error(`never closed: ${open.join(" ")}`)
  return { tags, text }
}
