import { signInScopes } from "../../core/rules/Scope.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import { inWorld, realSignatures } from "../given/World.ts"

/** Where the outline stands, so that a change of the document is seen in review. */
export const outlineFile = new URL("outline.txt", import.meta.url)

const width = 160

/** A sentence may change without a word; one that is empty may not. */
const isSentence = (name: string, value: unknown): boolean =>
  (name === "description" || name === "summary") && typeof value === "string" && value !== ""

const referenceStart = /^#\/components\/[a-z]+\//i

/** What stands once, under `components`, by its name alone; the headers of an answer in one line. */
const outlined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(outlined)
  if (typeof value === "string") return value.replace(referenceStart, "→ ")
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).filter(([name, member]) => !isSentence(name, member))
  const [first] = members
  if (members.length === 1 && first?.[0] === "$ref") return outlined(first[1])
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === "headers" ? headersOf(outlined(member)) : outlined(member)])
  )
}

const headersOf = (headers: unknown): unknown => {
  const all = Object.values(Object(headers))
  return all.every((one) => typeof one === "string") ? all.map((one) => one.replace("→ ", "")).join(", ") : headers
}

/** An answer that an earlier operation has to the letter stands there, and here by that one's name. */
const toldOnce = ({ paths, ...rest }: Readonly<Record<string, unknown>>): unknown => {
  const told = new Map<string, string>()
  const once = (answers: unknown, by: string) =>
    mapped(answers, (answer, status) => {
      const all = status + JSON.stringify(answer)
      const before = told.get(all)
      told.set(all, before ?? by)
      return before === undefined ? answer : `as of ${before}`
    })
  const operation = (one: unknown) =>
    mapped(one, (member, name) => (name === "responses" ? once(member, String(Object(one).operationId)) : member))
  return { ...rest, paths: mapped(paths, (item) => mapped(item, operation)) }
}

const mapped = (members: unknown, to: (member: unknown, name: string) => unknown) =>
  Array.isArray(members)
    ? members
    : Object.fromEntries(Object.entries(Object(members)).map(([name, member]) => [name, to(member, name)]))

/** JSON, where what fits stands in one line. */
const lines = (value: unknown, indent: string): string => {
  const short = JSON.stringify(value)
  if (typeof value !== "object" || value === null || indent.length + short.length <= width) return short
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((item) => lines(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${lines(member, inner)}`)
  const [opened, closed] = Array.isArray(value) ? "[]" : "{}"
  return `${opened}\n${members.map((member) => inner + member).join(",\n")}\n${indent}${closed}`
}

/** The OpenAPI document of a server that does all there is, but for its sentences. */
export const documentOutline = async (): Promise<string> => {
  const { body } = await inWorld((world) => world.send("GET", "/openapi.json"), {
    signatures: realSignatures,
    policy: { scopes: signInScopes },
    documents: new DocumentsWeb().layer()
  })
  return `${lines(toldOnce(Object(outlined(JSON.parse(body)))), "")}\n`
}
