import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../../harness/throwawayFolder.ts"
import { builtPackage } from "./builtPackage.ts"
import { finished } from "./finished.ts"

export const compilerOptions = {
  target: "es2023",
  lib: ["es2023", "dom", "dom.iterable"],
  module: "nodenext",
  moduleResolution: "nodenext",
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // The declarations of the package, and those of `effect` that they lean on, are checked like the project's own.
  skipLibCheck: false,
  rewriteRelativeImportExtensions: true,
  // A project that others import writes declarations, and so finds a name for the type of all that it exports.
  declaration: true,
  rootDir: ".",
  outDir: "out"
}

/** A project far from this checkout that has the consumer's files and, from npm, the packed package and nothing more. */
export const emptyProject = Effect.gen(function* () {
  const built = yield* builtPackage
  const folder = yield* throwawayFolder("project")
  const env = process.env
  const packed = yield* finished("npm", ["pack", built, "--silent", "--pack-destination", folder], { cwd: folder, env })
  cpSync(join(import.meta.dir, "../consumer"), folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  const asked = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
  yield* finished("npm", [...asked, join(folder, packed.trim())], { cwd: folder, env })
  return folder
})
