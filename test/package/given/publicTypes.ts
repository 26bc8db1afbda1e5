import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Declarations, type Place, readDeclarations } from "./Declarations.ts"

const byKey = <A>(map: ReadonlyMap<string, A>) => [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))

/** Which file a type comes through is the compiler's choice, and may change with files that have nothing to do with it. */
const withoutPaths = (statement: string) => statement.replace(/\bimport\("\.[^"]*"\)\./g, "")

/** The types that the built package's entries export: a text for each entry. */
export const publicTypes = (folder: string): ReadonlyMap<string, string> => {
  const read = new Map<string, Declarations>()
  const declarationsOf = (file: string): Declarations => {
    const known = read.get(file) ?? readDeclarations(file)
    read.set(file, known)
    return known
  }

  const exportsOf = (file: string): ReadonlyMap<string, Place> => {
    const { exported, spread } = declarationsOf(file)
    return new Map([...spread.flatMap((from) => [...exportsOf(from)]), ...exported])
  }
  /** Where a name is declared, through all that hand it on. */
  const origin = (place: Place): Place => {
    const { declared, imported } = declarationsOf(place.file)
    if (place.name === "*" || declared.has(place.name)) return place
    const next = exportsOf(place.file).get(place.name) ?? imported.get(place.name)
    if (next === undefined) throw new Error(`${place.file} has no ${place.name}`)
    return origin(next.file === place.file && next.name === place.name ? (imported.get(place.name) ?? next) : next)
  }
  const textOf = ({ file, name }: Place): string => {
    const declarations = declarationsOf(file)
    const statements = declarations.declared.get(name) ?? []
    // What the compiler calls the nameless class that a class extends belongs to it.
    const base = declarations.declared.get(`${name}_base`) ?? []
    return [...base, ...statements].map(withoutPaths).join("\n")
  }
  /** A name and what it is; a name for a whole module is its exports. */
  const promised = (name: string, place: Place): ReadonlyArray<readonly [string, Place]> => {
    const found = origin(place)
    return found.name === "*"
      ? byKey(exportsOf(found.file)).flatMap(([inner, each]) => promised(`${name}.${inner}`, each))
      : [[name, found]]
  }

  const texts = new Map<string, string>()
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  for (const [entry, { types }] of Object.entries<{ readonly types: string }>(exports)) {
    if (types === undefined) continue
    const parts = byKey(exportsOf(join(folder, types)))
      .flatMap(([name, place]) => promised(name, place))
      .map(([name, place]) => `// ${name}\n${textOf(place)}\n`)
    const title = entry.replace(/^\./, "tessera")
    texts.set(`${title.replaceAll("/", ".")}.txt`, `${title}\n\n${parts.join("\n")}`)
  }
  return texts
}
