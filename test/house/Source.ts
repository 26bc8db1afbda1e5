/** A file of the repository, as the house's rules see it. */
export interface Source {
  /** From the top of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

export interface Scanned {
  /** The text with comments and the insides of strings as blanks: same length, same lines, nothing but code. */
  readonly code: string
  /** The lines, counted from 0, that a comment touches. */
  readonly commented: ReadonlySet<number>
}

const beforeRegex = /(?:^|[=(,:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|yield|await))\s*$/

const blank = (text: string) => text.replace(/[^\n]/g, " ")

/** Where the token that starts at `start` ends, when it is a comment, a string or a regular expression. */
const patterns = {
  lineComment: /\/\/[^\n]*/y,
  blockComment: /\/\*[\s\S]*?(?:\*\/|$)/y,
  string: /"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?/y,
  regex: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  templatePart: /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
}

const at = (pattern: RegExp, text: string, start: number): string => {
  pattern.lastIndex = start
  return pattern.exec(text)?.[0] ?? ""
}

const inside = (literal: string) => literal.slice(0, 1) + blank(literal.slice(1, -1)) + literal.slice(1).slice(-1)

/** Enough of a lexer to tell code from what only looks like it. */
export const scan = (text: string): Scanned => {
  const commented = new Set<number>()
  /** For each open `${`, how many braces are open inside it. */
  const templates: Array<number> = []
  let code = ""

  const take = (token: string, shown: string) => {
    code += shown
    return token.length
  }
  const comment = (token: string) => {
    const first = code.split("\n").length - 1
    for (const [line] of token.split("\n").entries()) commented.add(first + line)
    return take(token, blank(token))
  }
  const template = (start: number, opening: string) => {
    const part = at(patterns.templatePart, text, start + opening.length)
    const after = start + opening.length + part.length
    const closing = text.startsWith("${", after) ? "${" : text.slice(after, after + 1)
    if (closing === "${") templates.push(0)
    return take(opening + part + closing, opening + blank(part) + closing)
  }
  const brace = (char: string, depth: number, start: number) => {
    if (char === "}" && depth === 0) {
      templates.pop()
      return template(start, "}")
    }
    templates[templates.length - 1] = depth + (char === "{" ? 1 : -1)
    return take(char, char)
  }

  for (let position = 0; position < text.length; ) {
    const char = text.charAt(position)
    const depth = templates.at(-1)
    if (text.startsWith("//", position)) position += comment(at(patterns.lineComment, text, position))
    else if (text.startsWith("/*", position)) position += comment(at(patterns.blockComment, text, position))
    else if (char === "`") position += template(position, "`")
    else if ((char === "{" || char === "}") && depth !== undefined) position += brace(char, depth, position)
    else {
      const literal =
        char === '"' || char === "'"
          ? at(patterns.string, text, position)
          : char === "/" && beforeRegex.test(code.slice(-40))
            ? at(patterns.regex, text, position)
            : ""
      position += literal === "" ? take(char, char) : take(literal, inside(literal))
    }
  }
  return { code, commented }
}

export interface Import {
  /** As written: a package, or a path relative to the file. `undefined` when it is computed at run time. */
  readonly specifier: string | undefined
  readonly line: number
}

export const lineOf = (text: string, index: number) => text.slice(0, index).split("\n").length

const importing = /\bfrom\s*(?=["'])|\bimport\s*(?=["'])|(?<![.\w$])(?:import|require)\s*\(\s*/g

/** Everything that a file imports or re-exports, types too. */
export const importsOf = (text: string): ReadonlyArray<Import> => {
  const { code } = scan(text)
  return [...code.matchAll(importing)].map((match) => {
    const start = match.index + match[0].length
    const quote = code.charAt(start)
    const end = code.indexOf(quote, start + 1)
    const literal = /["'`]/.test(quote) && !code.slice(start, end).includes("${")
    return { specifier: literal ? text.slice(start + 1, end) : undefined, line: lineOf(text, match.index) }
  })
}

/** What a relative import of a file means, from the top of the repository. */
export const resolve = (path: string, specifier: string): string => {
  const parts = path.split("/").slice(0, -1)
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== ".") parts.push(part)
  }
  return parts.join("/")
}
