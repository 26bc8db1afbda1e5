import { readFileSync } from "node:fs"
import { Result, Schema, SchemaIssue } from "effect"
import { systemCode } from "../serve/defect.ts"

/** What is wrong with a file that an operator wrote, and where. It never repeats a value. */
export interface FileFault {
  /** From 1; `undefined` where it is about the file as a whole. */
  readonly line: number | undefined
  readonly says: string
}

type Path = ReadonlyArray<PropertyKey>

/** Deeper than any configuration is. */
const deepest = 64

class Stop {
  readonly at: number
  constructor(at: number) {
    this.at = at
  }
}

const blank = /[\t\n\r ]*/y
const scalar =
  /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy

/**
 * Where in a JSON text the value at a path begins, or, where the text is none, where it goes wrong. For messages only:
 * what is read is what `JSON.parse` reads.
 */
const placeOf = (text: string, wanted: Path | undefined): number => {
  let at = 0
  const skip = () => {
    blank.lastIndex = at
    blank.exec(text)
    at = blank.lastIndex
  }
  const take = (character: string) => {
    skip()
    if (text[at] !== character) throw new Stop(at)
    at++
  }
  const word = (): unknown => {
    scalar.lastIndex = at
    const found = scalar.exec(text)
    if (found === null) throw new Stop(at)
    at = scalar.lastIndex
    return JSON.parse(found[0])
  }
  const isWanted = (path: Path) =>
    wanted !== undefined &&
    path.length === wanted.length &&
    path.every((key, index) => String(key) === String(wanted[index]))
  const walk = (path: Path): void => {
    skip()
    if (isWanted(path) || path.length > deepest) throw new Stop(at)
    const opens = text[at]
    if (opens !== "{" && opens !== "[") {
      word()
      return
    }
    const closes = opens === "{" ? "}" : "]"
    at++
    skip()
    for (let index = 0; text[at] !== closes; index++, skip()) {
      if (index > 0) take(",")
      skip()
      if (opens === "[") walk([...path, index])
      else {
        const key = text[at] === '"' ? word() : undefined
        if (typeof key !== "string") throw new Stop(at)
        take(":")
        walk([...path, key])
      }
    }
    at++
  }
  try {
    walk([])
    skip()
  } catch (stopped) {
    if (!(stopped instanceof Stop)) throw stopped
    return stopped.at
  }
  return at
}

const lineAt = (text: string, place: number): number => text.slice(0, place).split("\n").length

/** The line of the value at a path, or of the nearest one around it, as of a member that is missing. */
const lineOf = (text: string, path: Path): number => {
  for (let length = path.length; length > 0; length--) {
    const place = placeOf(text, path.slice(0, length))
    if (place < text.trimEnd().length) return lineAt(text, place)
  }
  return lineAt(text, placeOf(text, []))
}

const inWords = (path: Path): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "")

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const parse = (text: string): Result.Result<unknown, FileFault> => {
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail({ line: lineAt(text, placeOf(text, undefined)), says: "this is no JSON" })
  }
}

/** A JSON text as a schema has it, or all that is wrong with it. Members that the schema does not name are wrong too. */
export const readJson = <A>(
  schema: Schema.Codec<A, unknown>,
  text: string
): Result.Result<{ readonly value: A; readonly lineOf: (path: Path) => number }, ReadonlyArray<FileFault>> => {
  const parsed = parse(text)
  if (Result.isFailure(parsed)) return Result.fail([parsed.failure])
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(parsed.success)
  if (Result.isSuccess(decoded)) return Result.succeed({ value: decoded.success, lineOf: (path) => lineOf(text, path) })
  return Result.fail(
    format(decoded.failure.issue).issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => (typeof part === "object" ? part.key : part))
      const where = inWords(keys)
      return { line: lineOf(text, keys), says: `${where === "" ? "" : `${where}: `}${message.replaceAll(/\s+/g, " ")}` }
    })
  )
}

/** The text of a file, or why it cannot be had. */
export const readText = (path: string): Result.Result<string, FileFault> => {
  try {
    return Result.succeed(readFileSync(path, "utf8"))
  } catch (thrown) {
    return Result.fail({ line: undefined, says: `the file can't be read: ${systemCode(thrown) ?? "unknown failure"}` })
  }
}
