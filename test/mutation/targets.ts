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

/** The whole core and the guards, so that no new file can be forgotten. */
export const mutated: ReadonlyArray<string> = ["core", "runtimes/guard"]
  .flatMap(sourcesIn)
  .filter((file) => !leftOut.some((folder) => file.startsWith(folder)))

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
  "settings",
  "guard",
  "embed",
  "observe",
  "clients",
  "attacks"
]

/** Laws draw what they try. For a mutant each is tried a few times. */
const lawsFolder = "test/laws/"
export const runsOfLaws = 10

/** One sends hundreds of requests in a test, which is longer than a mutant may take; one begins before its tests do. */
const leftAside = new Set(["test/openapi/truth.test.ts", "test/attacks/workspaces.test.ts"])

const wanted = process.env.MUTATION_TESTS?.split(",") ?? []

const { alone, others } = tiers()

/** The tests that need no server, no process and no database: a mutant has to die of these. */
export const testFiles: ReadonlyArray<string> = [
  ...alone.filter((file) => testFolders.some((folder) => file.startsWith(`test/${folder}/`))),
  ...others.filter((file) => file.startsWith(lawsFolder))
].filter((file) => !leftAside.has(file) && (wanted.length === 0 || wanted.some((part) => file.startsWith(part))))

/** All that tests could load without being tests. */
export const allSources = (): ReadonlyArray<string> =>
  ["core", "runtimes/guard", "adapters/memory", "adapters/password"].flatMap(sourcesIn)
