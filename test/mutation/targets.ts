import { readdirSync } from "node:fs"
import { join } from "node:path"
import { tiers } from "../harness/tiers.ts"

export const root = join(import.meta.dir, "../..")

/** Words for people, and what proves the rest: a mutant of a sentence or of a test says nothing. */
const leftOut = ["core/pages/", "core/testing/"]

const sourcesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => `${folder}/${name}`)

/** The whole core, so that no new file can be forgotten. */
export const mutated: ReadonlyArray<string> = sourcesIn("core").filter(
  (file) => !leftOut.some((folder) => file.startsWith(folder))
)

const testFolders = [
  "codec",
  "cache",
  "rules",
  "workspace",
  "token",
  "client",
  "grant",
  "ports",
  "pages",
  "engine",
  "limits",
  "http",
  "request",
  "oauth",
  "openid",
  "openapi",
  "people",
  "settings"
]

/** It sends hundreds of requests in one test, which is longer than a mutant may take. */
const tooLong = "test/openapi/truth.test.ts"

/** The tests that need no server, no process and no database: a mutant has to die of these. */
export const testFiles: ReadonlyArray<string> = tiers().alone.filter(
  (file) => file !== tooLong && testFolders.some((folder) => file.startsWith(`test/${folder}/`))
)

/** All that tests could load without being tests. */
export const allSources = (): ReadonlyArray<string> =>
  ["core", "adapters/memory", "adapters/password"].flatMap(sourcesIn)
