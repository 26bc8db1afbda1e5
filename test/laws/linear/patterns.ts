import { LanguageVariant, SyntaxKind } from "typescript/unstable/ast"
import { createScanner } from "typescript/unstable/ast/scanner"

/** A pattern as it stands in a source. */
export interface Written {
  readonly place: string
  readonly pattern: RegExp
}

/** After these a slash divides; after anything else it begins a pattern. */
const values = new Set([
  SyntaxKind.Identifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateTail,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken
])

/** All patterns of a source, by the language's own scanner: those in a text or a comment are none. */
export const patternsOf = (path: string, text: string): ReadonlyArray<Written> => {
  const scanner = createScanner(true, LanguageVariant.Standard, text)
  const found: Array<Written> = []
  /** Braces that are open, and whether each is a place in a template. */
  const braces: Array<boolean> = []
  let last: SyntaxKind = SyntaxKind.Unknown
  for (let token = scanner.scan(); token !== SyntaxKind.EndOfFile; token = scanner.scan()) {
    let kind: SyntaxKind = token
    if (kind === SyntaxKind.OpenBraceToken) braces.push(false)
    if (kind === SyntaxKind.TemplateHead) braces.push(true)
    if (kind === SyntaxKind.CloseBraceToken && braces.pop() === true) {
      kind = scanner.reScanTemplateToken(false)
      if (kind === SyntaxKind.TemplateMiddle) braces.push(true)
    }
    if ((kind === SyntaxKind.SlashToken || kind === SyntaxKind.SlashEqualsToken) && !values.has(last)) {
      kind = scanner.reScanSlashToken()
      const literal = scanner.getTokenText()
      const end = literal.lastIndexOf("/")
      const line = text.slice(0, scanner.getTokenStart()).split("\n").length
      found.push({ place: `${path}:${line}`, pattern: new RegExp(literal.slice(1, end), literal.slice(end + 1)) })
    }
    last = kind
  }
  return found
}
