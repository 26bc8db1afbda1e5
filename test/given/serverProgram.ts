import { join } from "node:path"
import { plainEnvironment } from "../harness/runProgram.ts"

export interface ServerProgram {
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** What it is given of this machine, before its settings. */
  readonly env: Readonly<Record<string, string>>
}

const sources = join(import.meta.dir, "../../runtimes/bun/main.ts")

/** The server from its sources; or as the executable that `TESSERA_EXECUTABLE` names, which needs nothing of a machine. */
export const serverProgram = (executable: string | undefined = process.env.TESSERA_EXECUTABLE): ServerProgram =>
  executable === undefined
    ? { file: process.execPath, args: ["--no-env-file", sources], env: plainEnvironment }
    : { file: executable, args: [], env: {} }
