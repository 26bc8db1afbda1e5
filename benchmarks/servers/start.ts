import { join } from "node:path"
import { memorySettingsFor } from "../../runtimes/bun/memorySettings.ts"
import { type Runtime, startSubject } from "../measure/Subject.ts"

export interface Executables {
  readonly node: string
  /** This server, compiled. */
  readonly tessera: string
}

/** On Bun as the server binary has itself run, and nobody shall have less over the same store. */
const settingsOver = (store: string, runtime: Runtime) =>
  runtime === "bun" ? { env: memorySettingsFor({ ...process.env, DATABASE_URL: store }) } : {}

const executableOf = (executables: Executables, runtime: Runtime) =>
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
  /** In all workspaces together. */
  readonly clients?: number
  readonly coalescing?: boolean
  /** Without audit and limits, which `npm start` has on. */
  readonly plain?: boolean
  readonly core?: number | undefined
}

export const tessera = (executables: Executables, options: TesseraOptions = {}) => {
  const {
    runtime = "bun",
    name = "tessera",
    store = "memory:",
    grants = 1000,
    workspaces = 1,
    clients = workspaces
  } = options
  return startSubject({
    name,
    runtime,
    ...settingsOver(store, runtime),
    ...(runtime === "bun"
      ? { executable: executables.tessera }
      : { executable: executables.node, script: script("tessera.ts") }),
    args: [
      `--store=${store}`,
      `--grants=${grants}`,
      `--workspaces=${workspaces}`,
      `--clients=${clients}`,
      `--filled=${options.filled === true ? "yes" : "no"}`,
      `--coalescing=${options.coalescing === false ? "off" : "on"}`,
      `--plain=${options.plain === true ? "yes" : "no"}`
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
    ...settingsOver("memory:", runtime),
    args: []
  })

/** Over a store that holds so many grants of ours. Nobody else may write there. */
export const floorOverStore = (executables: Executables, store: string, grants: number) =>
  startSubject({
    name: "sealed floor",
    runtime: "bun",
    executable: executableOf(executables, "bun"),
    script: script("overStore/serve.ts"),
    args: [`--store=${store}`, `--grants=${grants}`]
  })

const bareNames = { bun: "bare Bun.serve", elysia: "bare Elysia", node: "bare node:http" }

export const bareFloor = (executables: Executables, server: "bun" | "elysia" | "node") => {
  const runtime = server === "node" ? "node" : "bun"
  return startSubject({
    name: bareNames[server],
    runtime,
    executable: executableOf(executables, runtime),
    script: script("bare.ts"),
    ...settingsOver("memory:", runtime),
    args: [`--server=${server}`]
  })
}

export const emptyServer = startSubject({
  name: "an empty answer",
  runtime: "bun",
  executable: process.execPath,
  script: script("empty.ts"),
  args: []
})

export interface PeerOptions {
  readonly name: string
  readonly store: string
  readonly script: string
  readonly runtime: Runtime
  readonly args: ReadonlyArray<string>
}

export const peer = (executables: Executables, options: PeerOptions) =>
  startSubject({
    ...options,
    ...settingsOver(options.store, options.runtime),
    executable: executableOf(executables, options.runtime),
    script: script(`../peers/${options.script}`)
  })
