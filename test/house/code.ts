import { isScript, type Rule, room, type Source } from "./Rule.ts"

const lineOf = (text: string, index: number) => text.slice(0, index).split("\n").length

const found = (code: string, pattern: RegExp, say: (word: string) => string) =>
  [...code.matchAll(pattern)].map((match) => `line ${lineOf(code, match.index)}: ${say(match[0].trim())}`)

const isProduct = ({ path }: Source) => ["core", "adapters", "runtimes"].includes(room(path)) && path.endsWith(".ts")

const comment = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/.source
const string = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`/.source
const commentOrString = new RegExp(`${comment}|${string}`, "g")

/** The text with comments and strings as blanks, line by line: near enough for what these rules look for. */
const codeOf = (text: string) => text.replace(commentOrString, (match) => match.replace(/[^\n]/g, " "))

export const pureCore: Rule = {
  title: "core draws nothing, and loads nothing at run time",
  breaches: ({ path, text }) =>
    room(path) === "core" && isScript(path)
      ? found(codeOf(text), /\bMath\.random\b|\bimport\.meta\b|(?<![.\w$])import\(/g, (word) => `${word} in core`)
      : []
}

export const knownImports: Rule = {
  title: "an import says what it loads",
  breaches: (source) =>
    isProduct(source)
      ? found(codeOf(source.text), /(?<![.\w$])import\(\s*[\w$]/g, () => "an import that is computed")
      : []
}

const renames = /\b(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*\s*as\s+[\w$]+)/g
const assertion =
  /(?<=[\w$)\]}"'`]\s+)as\s+(?=[A-Z({["'`]|(?:readonly|keyof|typeof|string|number|boolean|bigint|symbol|object|unknown|never|null|undefined)\b)/g

export const reasonedAssertions: Rule = {
  title: "an `as` has its reason in a comment beside it",
  breaches: (source) => {
    if (!isProduct(source)) return []
    const code = source.text.replace(commentOrString, (match) =>
      // A string stays something that an `as` may follow, and a comment leaves a mark on each of its lines.
      /^["'`]/.test(match) ? match.replace(/[^\n]/g, "_") : match.replace(/[^\n]+/g, "//")
    )
    const lines = code.split("\n")
    const clauseless = code.replace(renames, (clause) => clause.replace(/\bas\b/g, "  "))
    const asserting = [...clauseless.matchAll(assertion)].map(({ index }) => lineOf(code, index) - 1)
    const isCommented = (line: number) => lines[line]?.includes("//") === true
    // Assertions on lines that follow one another share the reason above the first.
    const hasReason = (line: number): boolean =>
      isCommented(line) || isCommented(line - 1) || (asserting.includes(line - 1) && hasReason(line - 1))
    return asserting.filter((line) => !hasReason(line)).map((line) => `line ${line + 1}: as without its reason`)
  }
}

export const checkedTypes: Rule = {
  title: "the type checker is never switched off",
  breaches: ({ path, text }) =>
    isScript(path) ? found(text, /@ts-(?:ignore|nocheck)/g, (word) => `${word} switches the type checker off`) : []
}

const spans = /\bEffect\.fn\(\s*["`]([^"`]*)["`]/g

export const spansOfRooms: Rule = {
  title: "a span has the name of its room in the core, and of what is done there",
  breaches: ({ path, text }) => {
    const [top, folder] = path.split("/")
    if (top !== "core" || folder === "testing" || !isScript(path)) return []
    return [...text.matchAll(spans)]
      .filter(([, name = ""]) => !new RegExp(`^${folder}\\.(?:[a-z]+[A-Za-z]*|\\$\\{[\\w.]+\\})$`).test(name))
      .map(({ 1: name, index }) => `line ${lineOf(text, index)}: ${name}`)
  }
}

const leftOut =
  /\b(?:test|it|describe)\s*\.\s*(?:(?:concurrent|serial)\s*\.\s*)?(?:skip|only|todo|if|skipIf|todoIf|failing)\b|(?<![.\w$])(?:xit|xtest|xdescribe|fit|fdescribe)\s*\(/g

export const everyTestRuns: Rule = {
  title: "no test is skipped, alone or still to come",
  breaches: ({ path, text }) =>
    room(path) === "test" && isScript(path) ? found(codeOf(text), leftOut, (word) => `${word} leaves tests out`) : []
}

/** The arguments of a call, with calls of calls in them. */
const given = String.raw`\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`
/** What an expression ends in: a name, or a call of it. */
const before = new RegExp(String.raw`([\w$]+)(?:${given})?\s*$`)
const behind = new RegExp(String.raw`^\s*(?:[\w$]+(?:${given})?(?:!|\?)?\.)*([\w$]+)(?:${given})?`)
const secretive =
  /(?:digest|hash|mac|thumbprint|secret|csrf|signature|verifier|challenge|password|reader|sessionPath|(?:auth|mac|seal)_?tag)(?:Of|Text|Field)?$/i
/** No side of a comparison is longer. */
const farthest = 300
const nothing = /^(?:undefined|null|true|false|\d\w*)$/

const oneCall = new RegExp(String.raw`\b(?:sameDigest|isDigestOf)(${given})`, "g")
const itsComma = /,(?![^()]*\))/

/** Each comparison of secrets in a text, written as it must not be: the rule has to know it by its names. */
export const plainlyCompared = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(oneCall)].flatMap(([, call = ""]) => {
    const [left = "", right = ""] = call.slice(1, -1).split(itsComma)
    return right.includes(":") ? [] : [`return ${left.replace(/ \?\?.*/, "")} === ${right}`]
  })

export const comparedInConstantTime: Rule = {
  title: "digests, MACs and secrets are compared by `isDigestOf` and `sameDigest`, whose time tells nothing",
  breaches: (source) => {
    if (!isProduct(source) || source.path.startsWith("core/testing/")) return []
    // A text in quotes stays a mark, which is no name.
    const code = source.text.replace(commentOrString, (match) =>
      match.replace(/[^\n]/g, /^["'`]/.test(match) ? '"' : " ")
    )
    return [...code.matchAll(/[!=]==?/g)].flatMap(({ 0: operator, index }) => {
      const [, left = ""] = before.exec(code.slice(Math.max(0, index - farthest), index)) ?? []
      const [, right = ""] = behind.exec(code.slice(index + operator.length)) ?? []
      const isSecret = [left, right].some((name) => secretive.test(name))
      const isLiteral = [left, right].some((name) => name === "" || nothing.test(name))
      return isSecret && !isLiteral ? [`line ${lineOf(code, index)}: ${left} ${operator} ${right}`] : []
    })
  }
}
