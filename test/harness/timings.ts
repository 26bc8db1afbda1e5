import { readFileSync } from "node:fs"

/** How long each file of a run took, in milliseconds, as `bun test --update-timings` writes it and `--timings` reads it. */
export interface Timings {
  readonly version: 1
  readonly files: Readonly<Record<string, number>>
}

/** What takes more than five seconds where nothing else runs, the slowest first: whatever begins last ends alone. */
export const slow: ReadonlyArray<string> = [
  "test/processes/failure.test.ts",
  "test/package/installed.test.ts",
  "test/runtimes/serve.test.ts",
  "test/runtimes/command.test.ts",
  "test/readme/tour.test.ts",
  "test/browser/settings.test.ts",
  "test/processes/races.test.ts",
  "test/laws/model.test.ts",
  "test/browser/consent.test.ts",
  "test/runtimes/manyWorkspaces.test.ts",
  "test/pages/look.test.ts",
  "test/processes/copy.test.ts",
  "test/processes/killed.test.ts",
  "test/openapi/truth.test.ts",
  "test/embed/heapOfWorkspaces.test.ts",
  "test/adapters/redisFailure.test.ts",
  "test/adapters/postgresFailure.test.ts",
  "test/adapters/postgres.test.ts",
  "test/attacks/otherSites.test.ts",
  "test/attacks/mutations.test.ts",
  "test/runtimes/connections.test.ts",
  "test/runtimes/fromSources.test.ts",
  "test/readme/configuration.test.ts",
  "test/harness/run.test.ts",
  "test/adapters/guide.test.ts",
  "test/binary/command.test.ts",
  "test/runtimes/launch/launch.test.ts",
  "test/observe/audit.test.ts",
  "test/browser/ownPeople.test.ts",
  "test/harness/Server.test.ts",
  "test/pages/use.test.ts",
  "test/embed/workers.test.ts",
  "test/runtimes/frameworks.test.ts",
  "test/runtimes/standardError.test.ts"
]

/** Has `bun test` begin with the slow ones. All others count alike. */
export const expected = (files: ReadonlyArray<string>): Timings => ({
  version: 1,
  files: Object.fromEntries(
    files.map((file) => [file, slow.includes(file) ? 1000 + slow.length - slow.indexOf(file) : 1])
  )
})

/** The files that took longest, as lines for the end of a run. */
export const slowestOf = ({ files }: Timings, most = 10): ReadonlyArray<string> =>
  Object.entries(files)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, most)
    .map(([file, milliseconds]) => `${(milliseconds / 1000).toFixed(1).padStart(6)} s  ${file}`)

export const readTimings = (file: string): Timings => JSON.parse(readFileSync(file, "utf8"))
