/** Where an interpolation stands: between tags, inside one, inside quotes, or at the start of a quoted URL. */
export type HoleKind = "text" | "tag" | "quoted" | "url" | "image"

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

/** Each template is read once: its strings are the same object at every call. */
export const holesOf = (strings: TemplateStringsArray): ReadonlyArray<HoleKind> => {
  const known = scanned.get(strings)
  if (known !== undefined) return known
  const kinds = scan(strings)
  scanned.set(strings, kinds)
  return kinds
}
