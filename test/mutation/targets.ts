import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dir, "../..")

const folders = [
  "core/rules",
  "core/workspace",
  "core/token",
  "core/client",
  "core/grant",
  "core/request",
  "core/oauth/grants",
  "core/oauth/clients",
  "core/oauth/presented",
  "core/oauth/endpoints"
]

const sourcesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => `${folder}/${name}`)

/** What decides, seals and validates. */
export const mutated: ReadonlyArray<string> = [
  ...folders.flatMap(sourcesIn),
  "core/engine/Records.ts",
  "core/engine/transact.ts",
  "core/http/form.ts",
  "core/http/Route.ts"
]

const testFolders = [
  "codec",
  "cache",
  "rules",
  "workspace",
  "token",
  "client",
  "grant",
  "engine",
  "http",
  "request",
  "oauth"
]

/** Among the others, but it asks for a PostgreSQL. */
const withServices = ["takesWrites.test.ts"]

/** The tests that need no server and no database: a mutant has to die of these. */
export const testFiles: ReadonlyArray<string> = testFolders
  .filter((folder) => existsSync(join(root, "test", folder)))
  .flatMap((folder) =>
    readdirSync(join(root, "test", folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts") && !withServices.includes(name))
      .sort()
      .map((name) => `test/${folder}/${name}`)
  )

/** All that tests could load without being tests. */
export const allSources = (): ReadonlyArray<string> =>
  ["core", "adapters/memory"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .map((name) => `${folder}/${name}`)
  )
