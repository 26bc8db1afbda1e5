import { readFileSync } from "node:fs"
import { Result, Schema, SchemaIssue } from "effect"
import { systemCode } from "../serve/defect.ts"
import { readJsonLines } from "./JsonLines.ts"

/** What is wrong with a file that an operator wrote, and where. It never repeats a value. */
export interface FileFault {
  /** From 1; `undefined` where it is about the file as a whole. */
  readonly line: number | undefined
  readonly says: string
}

type Path = ReadonlyArray<PropertyKey>

const inWords = (path: Path): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "")

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** A JSON text as a schema has it, or all that is wrong with it. Members that the schema does not name are wrong too. */
export const readJson = <A>(
  schema: Schema.Codec<A, unknown>,
  text: string
): Result.Result<{ readonly value: A; readonly lineOf: (path: Path) => number }, ReadonlyArray<FileFault>> => {
  const parsed = readJsonLines(text)
  if (Result.isFailure(parsed)) return Result.fail([{ line: parsed.failure.line, says: parsed.failure.why }])
  const { lineOf, value } = parsed.success
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(value)
  if (Result.isSuccess(decoded)) return Result.succeed({ value: decoded.success, lineOf })
  return Result.fail(
    format(decoded.failure.issue).issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => (typeof part === "object" ? part.key : part))
      const where = inWords(keys)
      return { line: lineOf(keys), says: `${where === "" ? "" : `${where}: `}${message.replaceAll(/\s+/g, " ")}` }
    })
  )
}

/** The text of a file, or why it cannot be had. */
export const readText = (path: string): Result.Result<string, FileFault> => {
  try {
    return Result.succeed(readFileSync(path, "utf8"))
  } catch (thrown) {
    return Result.fail({ line: undefined, says: `the file cannot be read: ${systemCode(thrown) ?? "unknown failure"}` })
  }
}
