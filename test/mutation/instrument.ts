import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Instrumenter } from "@stryker-mutator/instrumenter"
import { instrumentedFile } from "./instrumentedFile.ts"
import { passOver } from "./passOver.ts"
import { root } from "./targets.ts"

/** One change of one place. */
export interface Mutant {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly mutator: string
  readonly original: string
  readonly replacement: string
}

interface Place {
  readonly line: number
  readonly column: number
}

const quiet = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: console.error,
  error: console.error,
  fatal: console.error
}

const textBetween = (source: string, start: Place, end: Place): string => {
  const lines = source.split("\n").slice(start.line, end.line + 1)
  const last = lines.length - 1
  return lines
    .map((line, at) => line.slice(at === 0 ? start.column : 0, at === last ? end.column : undefined))
    .map((line) => line.trim())
    .join(" ")
}

/** Writes every source with all its mutants in it, each behind a switch, and tells which there are. */
export const instrument = async (files: ReadonlyArray<string>): Promise<ReadonlyArray<Mutant>> => {
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]))
  const result = await new Instrumenter(quiet).instrument(
    files.map((name) => ({ name, mutate: true, content: sources.get(name) ?? "" })),
    { plugins: null, excludedMutations: [], ignorers: [passOver] }
  )
  for (const { name, content } of result.files) {
    mkdirSync(dirname(instrumentedFile(name)), { recursive: true })
    writeFileSync(instrumentedFile(name), content)
  }
  return result.mutants
    .filter((mutant) => mutant.status !== "Ignored")
    .map(({ id, fileName, location, mutatorName, replacement }) => ({
      id,
      file: fileName,
      line: location.start.line + 1,
      mutator: mutatorName,
      original: textBetween(sources.get(fileName) ?? "", location.start, location.end),
      replacement
    }))
}
