import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const root = join(import.meta.dir, "../..")

/** Random tests that take a minute together, so they are not in the first tier. */
const long = /^test\/(?:laws|testing)\/|^test\/attacks\/mutations/

export interface Tiers {
  /** Test files without processes and services: seconds in all. They run first. */
  readonly alone: ReadonlyArray<string>
  readonly others: ReadonlyArray<string>
}

const scanner = new Bun.Transpiler({ loader: "ts" })

/** Whether a test file or one of its imports uses services, processes or a browser. */
const reachesOut = (path: string, known: Map<string, boolean>): boolean => {
  const before = known.get(path)
  if (before !== undefined) return before
  known.set(path, false)
  const text = readFileSync(join(root, path), "utf8")
  const reaches =
    path === "test/harness/given.ts" ||
    text.includes("Bun.spawn") ||
    scanner.scanImports(text).some(({ path: specifier }) => {
      if (specifier === "node:child_process") return true
      const target = join(dirname(path), specifier)
      const isOurs = specifier.startsWith(".") && target.startsWith("test/") && target.endsWith(".ts")
      return isOurs && existsSync(join(root, target)) && reachesOut(target, known)
    })
  known.set(path, reaches)
  return reaches
}

export const tiers = (): Tiers => {
  const known = new Map<string, boolean>()
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync(root)].toSorted()
  const isAlone = (file: string) => !long.test(file) && !reachesOut(file, known)
  return { alone: files.filter(isAlone), others: files.filter((file) => !isAlone(file)) }
}
