import { join } from "node:path"
import { plainEnvironment } from "../harness/runProgram.ts"

export interface ServerProgram {
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** Variables of the machine, before its settings. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * What a test asks of a server is soon answered, mostly before code that JavaScriptCore has optimised pays for that: it
 * waits five times as long with it, which saves a quarter of a start.
 */
export const shortLived = { BUN_JSC_thresholdForOptimizeAfterWarmUp: "5000" }

const sources = join(import.meta.dir, "../../runtimes/bun/main.ts")

/**
 * The server as the executable that `npm test` builds for all tests, which needs nothing of a machine; from its sources
 * where there is none.
 */
export const serverProgram = (executable = process.env.TESSERA_EXECUTABLE ?? ""): ServerProgram =>
  executable === ""
    ? { file: process.execPath, args: ["--no-env-file", sources], env: { ...plainEnvironment, ...shortLived } }
    : { file: executable, args: [], env: shortLived }
