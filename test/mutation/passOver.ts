import type { babel } from "@stryker-mutator/instrumenter"

type Path = babel.NodePath
type Node = Path["node"]

/** Members and constants that hold words for people. */
const wordy = new Set(["message", "description", "expected", "label", "text", "hint", "question", "confirm", "title"])

/** Functions whose last argument is such words. */
const saying = new Set(["challengeRequired", "metadataFault", "fault"])

/** Members of `Effect` whose first argument is a line for an operator, or the name of a span. */
const telling = new Set(["fn", "logDebug", "logInfo", "logWarning", "logError"])

/** Tables of such words. */
const wordTables = new Set(["faultInWords"])

const nameOf = (node: Node | null | undefined): string | undefined =>
  node?.type === "Identifier" ? node.name : undefined

/** A text, or a template that does nothing but put values into one. */
const isWords = (node: Node): boolean =>
  node.type === "StringLiteral" ||
  (node.type === "TemplateLiteral" &&
    node.expressions.every((hole) => !["CallExpression", "ConditionalExpression"].includes(hole.type)))

/** Several words of which the first begins with a capital, or four at least: no name of a protocol has that form. */
const isSentence = (node: Node): boolean => {
  const text =
    node.type === "StringLiteral" ? node.value : node.type === "TemplateLiteral" ? node.quasis[0]?.value.raw : undefined
  return /^[A-Z][^\sA-Z_]* \S|^[a-z][a-z-]*(?:[,;:]? [A-Za-z-]+){3}/.test(text ?? "")
}

/** An object that holds nothing but such words. */
const isOnlyWords = (node: Node): boolean =>
  node.type === "ObjectExpression" &&
  node.properties.length > 0 &&
  node.properties.every(
    (member) => member.type === "ObjectProperty" && wordy.has(nameOf(member.key) ?? "") && isWords(member.value)
  )

const isForPeople = (path: Path): boolean => {
  const parent = path.parent
  if (parent.type === "ObjectProperty") {
    if (parent.value !== path.node) return false
    const table = path.parentPath?.parentPath?.parent
    return (
      wordy.has(nameOf(parent.key) ?? "") ||
      (table?.type === "VariableDeclarator" && wordTables.has(nameOf(table.id) ?? ""))
    )
  }
  if (parent.type === "VariableDeclarator") return wordy.has(nameOf(parent.id) ?? "")
  return (
    parent.type === "CallExpression" && saying.has(nameOf(parent.callee) ?? "") && parent.arguments.at(-1) === path.node
  )
}

/** `Effect.logInfo("…", details)`, `Effect.fn("engine.clearClients")`. */
const isForOperators = (path: Path): boolean => {
  const parent = path.parent
  if (parent.type !== "CallExpression" || parent.arguments[0] !== path.node) return false
  const { callee } = parent
  return (
    callee.type === "MemberExpression" &&
    nameOf(callee.object) === "Effect" &&
    telling.has(nameOf(callee.property) ?? "")
  )
}

/** `Schema.brand("Digest")` and `Context.Service<…>()("tessera/…")`: names that only a compiler or a debugger reads. */
const isNameOfType = (path: Path): boolean => {
  const parent = path.parent
  if (parent.type !== "CallExpression" || parent.arguments[0] !== path.node) return false
  if (path.node.type === "StringLiteral" && path.node.value.startsWith("tessera/core/")) return true
  return parent.callee.type === "MemberExpression" && nameOf(parent.callee.property) === "brand"
}

/** Why a place is not mutated, or nothing. README.md says the same in words. */
export const passOver = {
  shouldIgnore: (place: object): string | undefined => {
    // The instrumenter hands out Babel's paths and calls them nothing, so that its interface needs no Babel.
    const path = place as Path
    if (isOnlyWords(path.node)) return "words for people"
    if (!isWords(path.node)) return undefined
    if (isSentence(path.node) || isForPeople(path)) return "words for people"
    if (isForOperators(path)) return "words for operators"
    return isNameOfType(path) ? "the name of a type" : undefined
  }
}
