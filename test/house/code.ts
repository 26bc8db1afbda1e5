import { isScript, type Rule, room } from "./Rule.ts"
import { importsOf, lineOf, type Source, scan } from "./Source.ts"

const found = (code: string, pattern: RegExp, say: (word: string) => string) =>
  [...code.matchAll(pattern)].map((match) => `line ${lineOf(code, match.index)}: ${say(match[0].trim())}`)

const isProduct = ({ path }: Source) => ["core", "adapters", "runtimes"].includes(room(path)) && path.endsWith(".ts")

/** Names that reach for a clock, for chance, for the outside or for the platform, and are not somebody's property. */
const ambient =
  /(?<![.\w$])(?:Date|Math\s*\.\s*random|process|Bun|Deno|crypto|globalThis|window|self|performance|console|fetch|Buffer|set(?:Timeout|Interval|Immediate)|queueMicrotask|require|__dirname|__filename|import\s*\.\s*meta)\b(?!\s*\??:)/g

/** The one place where the core takes what a platform offers: the default layer of its own port. */
const granted: Readonly<Record<string, string>> = {
  "core/ports/Entropy.ts": "globalThis.crypto.getRandomValues"
}

export const pureCore: Rule = {
  title: "core knows no clock, no chance and no platform",
  breaches: ({ path, text }) => {
    if (room(path) !== "core" || !isScript(path)) return []
    const code = scan(text).code
    const exception = granted[path]
    return found(exception === undefined ? code : code.replace(exception, "0"), ambient, (word) => `${word} in core`)
  }
}

export const noAny: Rule = {
  title: "nothing is any",
  breaches: (source) =>
    isProduct(source) ? found(scan(source.text).code, /(?<![.\w$])any\b(?!\s*\??[:(=])/g, () => "any") : []
}

const renames = /\b(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*\s*as\s+[\w$]+)/g
const assertion = /(?<=[\w$)\]}"'`]\s+)as\s+(?!const\b)(?=[\w$({["'`])/g

export const reasonedAssertions: Rule = {
  title: "an `as` has its reason in a comment beside it",
  breaches: (source) => {
    if (!isProduct(source)) return []
    const { code, commented } = scan(source.text)
    const clauseless = code.replace(renames, (clause) => clause.replace(/\bas\b/g, "  "))
    const asserting = [...clauseless.matchAll(assertion)].map(({ index }) => lineOf(code, index) - 1)
    // Assertions on lines that follow one another share the reason above the first.
    const hasReason = (line: number): boolean =>
      commented.has(line) || commented.has(line - 1) || (asserting.includes(line - 1) && hasReason(line - 1))
    return asserting.filter((line) => !hasReason(line)).map((line) => `line ${line + 1}: as without its reason`)
  }
}

export const checkedTypes: Rule = {
  title: "the type checker is never switched off",
  breaches: ({ path, text }) =>
    isScript(path) ? found(text, /@ts-(?:ignore|nocheck)/g, (word) => `${word} switches the type checker off`) : []
}

const leftOut =
  /\b(?:test|it|describe)\s*\.\s*(?:(?:concurrent|serial)\s*\.\s*)?(?:skip|only|todo|if|skipIf|todoIf|failing)\b|(?<![.\w$])(?:xit|xtest|xdescribe|fit|fdescribe)\s*\(/g

export const everyTestRuns: Rule = {
  title: "no test is skipped, alone or still to come",
  breaches: ({ path, text }) =>
    room(path) === "test" && isScript(path) ? found(scan(text).code, leftOut, (word) => `${word} leaves tests out`) : []
}

/** Where a parameter's own text is wanted: on the error page, and to be held against the header's. */
const tellsBack = [
  "core/http/form.ts",
  "core/request/AuthorizationRequest.ts",
  "core/oauth/clients/secretBasic.ts",
  "core/oauth/clients/secretPost.ts"
]

export const readByContract: Rule = {
  title: "an endpoint with a contract gets at its parameters by the contract's Schemas",
  breaches: ({ path, text }) => {
    if (!path.startsWith("core/http/")) return []
    const bound = importsOf(text).some(({ specifier }) => specifier?.includes("/openapi/contract/") === true)
    const { code } = scan(text)
    return [
      ...(bound ? found(code, /\b(?:readForm|readParameters)\b/g, (word) => `${word} goes past the contract`) : []),
      ...(tellsBack.includes(path) ? [] : found(code, /\basItCame\b/g, (word) => `${word} has no reason here`))
    ]
  }
}
