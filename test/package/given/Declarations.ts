import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A name as some module has it. */
export interface Place {
  readonly file: string
  readonly name: string
}

/** One file of declarations, as the compiler writes them: every statement begins at the start of a line. */
export interface Declarations {
  /** By the name that the file itself uses. A name may be a value and a type. */
  readonly declared: ReadonlyMap<string, ReadonlyArray<string>>
  /** What it imports from its neighbours; `*` is a whole one. What it imports from packages is theirs. */
  readonly imported: ReadonlyMap<string, Place>
  /** What it exports: under which name, and what that is. */
  readonly exported: ReadonlyMap<string, Place>
  /** Neighbours whose every export it has too. */
  readonly spread: ReadonlyArray<string>
}

const comments = /^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n/gm
const declaring =
  /^(export )?(?:declare )?(?:abstract )?(?:const|let|function|class|interface|type|enum|namespace) ([\w$]+)/

/** What a file says about names that are not its own, for all who load it. */
const augmenting = "declare global"

const statementsOf = (text: string): ReadonlyArray<string> =>
  text
    .replace(comments, "")
    .split(/\n(?=(?:export|import|declare|interface|type|abstract)\b)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "" && statement !== "export {};")

const neighbour = (file: string, specifier: string) => join(file, "..", specifier.replace(/\.js$/, ".d.ts"))

/** `type A, B as C` of an import or export clause, as pairs of what is taken and what it is called here. */
const pairsOf = (clause: string): ReadonlyArray<readonly [string, string]> =>
  clause
    .split(",")
    .map((part) => part.trim().replace(/^type /, ""))
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", alias = name] = part.split(" as ")
      return [name, alias]
    })

export const readDeclarations = (file: string): Declarations => {
  const declared = new Map<string, Array<string>>()
  const imported = new Map<string, Place>()
  const exported = new Map<string, Place>()
  const spread: Array<string> = []

  const move = (statement: string, from: string) => {
    const names = statement.startsWith("import") ? imported : exported
    const [, whole] = /^(?:import|export) (?:type )?\* as ([\w$]+)/.exec(statement) ?? []
    if (whole !== undefined) names.set(whole, { file: from, name: "*" })
    else if (/^export (?:type )?\*/.test(statement)) spread.push(from)
    const [, clause = ""] = /\{([^}]*)\}/.exec(statement) ?? []
    for (const [name, alias] of pairsOf(clause)) names.set(alias, { file: from, name })
  }
  const declare = (statement: string) => {
    const [, open, name = statement.startsWith(augmenting) ? augmenting : undefined] = declaring.exec(statement) ?? []
    if (name === undefined) throw new Error(`${file} has a statement that nobody understands: ${statement}`)
    declared.set(name, [...(declared.get(name) ?? []), statement])
    if (open !== undefined) exported.set(name, { file, name })
  }

  for (const statement of statementsOf(readFileSync(file, "utf8"))) {
    const [, specifier] = /^(?:import|export) [^;]*? from "([^"]*)";$/.exec(statement) ?? []
    if (specifier?.startsWith(".")) move(statement, neighbour(file, specifier))
    else if (specifier === undefined && /^export (?:type )?\{/.test(statement)) move(statement, file)
    else if (specifier === undefined && !/^import "/.test(statement)) declare(statement)
    else if (statement.startsWith("export")) throw new Error(`${file} exports what is another package's: ${statement}`)
  }
  return { declared, imported, exported, spread }
}
