import { join } from "node:path"
import { type Runtime, startSubject } from "../measure/Subject.ts"

interface Executables {
  readonly node: string
}

export const executableOf = (executables: Executables, runtime: Runtime) =>
  runtime === "bun" ? process.execPath : executables.node

const script = (name: string) => join(import.meta.dir, name)

export interface TesseraOptions {
  readonly name?: string
  readonly runtime?: Runtime
  readonly store?: string
  readonly grants?: number
  /** The grants are in the store already. */
  readonly filled?: boolean
  readonly workspaces?: number
  readonly coalescing?: boolean
  readonly audit?: boolean
  readonly core?: number | undefined
}

export const tessera = (executables: Executables, options: TesseraOptions = {}) => {
  const { runtime = "bun", name = "tessera", store = "memory:", grants = 1000, workspaces = 1 } = options
  return startSubject({
    name,
    runtime,
    executable: executableOf(executables, runtime),
    script: script("tessera.ts"),
    args: [
      `--store=${store}`,
      `--grants=${grants}`,
      `--workspaces=${workspaces}`,
      `--filled=${options.filled === true ? "yes" : "no"}`,
      `--coalescing=${options.coalescing === false ? "off" : "on"}`,
      `--audit=${options.audit === true ? "on" : "off"}`
    ],
    ...("core" in options ? { core: options.core } : {})
  })
}

export const sealedFloor = (executables: Executables, runtime: Runtime) =>
  startSubject({
    name: "sealed floor",
    runtime,
    executable: executableOf(executables, runtime),
    script: script("sealed/serve.ts"),
    args: []
  })
