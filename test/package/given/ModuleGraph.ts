import { readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"

export interface ModuleGraph {
  /** The files that are loaded, the entry among them. */
  readonly files: ReadonlySet<string>
  /** What is imported by a package's name, and the file that it stands for. */
  readonly bare: ReadonlyMap<string, string>
  /** What no file stands for: modules of a platform, and packages that are not there. */
  readonly foreign: ReadonlySet<string>
}

const isPlatform = (specifier: string) =>
  /^(?:node|bun|cloudflare):|^bun$/.test(specifier) || builtinModules.includes(specifier)

const locate = (specifier: string, from: string): string | undefined => {
  if (isPlatform(specifier)) return undefined
  try {
    return Bun.resolveSync(specifier, from)
  } catch {
    return undefined
  }
}

/** Installed files stay as they are, and every graph goes through most of the same. */
const known = new Map<string, ReadonlyArray<string>>()

const scanner = new Bun.Transpiler({ loader: "js" })

/** Of built modules. What is computed at run time stands for nothing that is known. */
const specifiersIn = (file: string): ReadonlyArray<string> => {
  const read = (text: string) => [
    ...scanner.scanImports(text).map(({ path }) => path),
    ...(text.includes("import(") && /(?<![.\w$])import\(\s*[\w$]/.test(scanner.transformSync(text))
      ? [`import(…) in ${file}`]
      : [])
  ]
  // The scanner takes no line that names an interpreter.
  const found = known.get(file) ?? read(readFileSync(file, "utf8").replace(/^#!.*/, ""))
  known.set(file, found)
  return found
}

/** Everything that an import loads, into the packages that it is built on, and what may be loaded later as well. */
export const graphOf = (folder: string, entries: ReadonlyArray<string>): ModuleGraph => {
  const files = new Set<string>()
  const bare = new Map<string, string>()
  const foreign = new Set<string>()
  const follow = (specifier: string, from: string): ReadonlyArray<string> => {
    const file = locate(specifier, from)
    if (file === undefined) {
      foreign.add(specifier)
      return []
    }
    if (!specifier.startsWith(".")) bare.set(specifier, file)
    return [file]
  }
  const waiting = entries.flatMap((entry) => follow(entry, folder))
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const beside = join(file, "..")
    for (const specifier of specifiersIn(file)) waiting.push(...follow(specifier, beside))
  }
  return { files, bare, foreign }
}
