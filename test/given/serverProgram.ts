import { join } from "node:path"
import { memorySettingsFor } from "../../runtimes/bun/memorySettings.ts"
import { plainEnvironment, shortLived } from "../harness/runProgram.ts"

export interface ServerProgram {
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** Variables of the machine, before its settings. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * What `tessera serve` would otherwise tell Bun by starting again, a sixth of its start: `test/binary` and
 * `test/runtimes/launch` have it do so.
 */
export const toServe = (env: Readonly<Record<string, string>>) => ({ ...memorySettingsFor(env), ...env })

const sources = join(import.meta.dir, "../../runtimes/bun/main.ts")

/**
 * The server as the executable that `npm test` builds for all tests, which needs nothing of a machine; from its sources
 * where there is none.
 */
export const serverProgram = (executable = process.env.TESSERA_EXECUTABLE ?? ""): ServerProgram =>
  executable === ""
    ? { file: process.execPath, args: ["--no-env-file", sources], env: plainEnvironment }
    : { file: executable, args: [], env: shortLived }
