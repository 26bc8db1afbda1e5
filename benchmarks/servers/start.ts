import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { compile } from "../../runtimes/binary/compile.mjs"
import { memorySettingsFor } from "../../runtimes/bun/memorySettings.ts"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { BenchFailed, type Runtime, startSubject } from "../measure/processes.ts"

/** The server under test as one executable, made as the one is that we ship. */
export const compileTessera = (say: (line: string) => void): Effect.Effect<string, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    say("compiling the server")
    const outfile = join(yield* throwawayFolder("bench-executable"), "tessera")
    const failure = compile({ entry: join(import.meta.dir, "tessera.ts"), outfile })
    if (failure !== undefined) return yield* new BenchFailed({ message: failure })
    return outfile
  })

export interface Executables {
  readonly node: string
  /** This server, compiled. */
  readonly tessera: string
  /** A planted fault: so many microseconds are spent at each of its requests. */
  readonly burn: number
}

/** On Bun as the server binary has itself run, and nobody shall have less over the same store. */
const settingsOver = (store: string, runtime: Runtime) =>
  runtime === "bun" ? { env: memorySettingsFor({ ...process.env, DATABASE_URL: store }) } : {}

const executableOf = (executables: Executables, runtime: Runtime) =>
  runtime === "bun" ? process.execPath : executables.node

const script = (name: string) => join(import.meta.dir, name)

interface TesseraOptions {
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
  /** Which of the duties that `npm start` has on are off. */
  readonly without?: ReadonlyArray<"audit" | "limits">
  /** The algorithm of its JWTs: without one, nothing is signed or verified there. */
  readonly signing?: string
  /** Takes metadata documents, which a network within it has for every address, and writes no registration at once. */
  readonly strangers?: boolean
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
      `--without=${options.without?.join() ?? ""}`,
      `--signing=${options.signing ?? ""}`,
      `--strangers=${options.strangers === true ? "yes" : "no"}`,
      `--burn=${executables.burn}`
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

const onBun = (executables: Executables, name: string, file: string) =>
  startSubject({
    name,
    runtime: "bun",
    executable: executableOf(executables, "bun"),
    script: script(file),
    ...settingsOver("memory:", "bun"),
    args: []
  })

/** A resource server behind `jwtGuard`. */
export const guarded = (executables: Executables) => onBun(executables, "tessera, jwtGuard", "guarded.ts")

/** The least that signatures cost on Bun.serve: the same forms, answers and calls of `jose`. */
export const signaturesFloor = (executables: Executables) =>
  onBun(executables, "signatures floor", "sealed/signatures.ts")

/** The least that proofs of keys cost on Bun.serve: the same forms, seals, answers and calls of `jose`. */
export const proofsFloor = (executables: Executables) => onBun(executables, "proofs floor", "sealed/proofs.ts")

/** Over a store that holds so many grants of ours. Nobody else may write there. */
export const floorOverStore = (executables: Executables, store: string, grants: number) =>
  startSubject({
    name: "sealed floor",
    runtime: "bun",
    executable: executableOf(executables, "bun"),
    script: script("overStore.ts"),
    args: [`--store=${store}`, `--grants=${grants}`]
  })

const bareNames = {
  bun: "bare Bun.serve",
  elysia: "bare Elysia",
  node: "bare node:http",
  nothing: "an empty answer"
}

export const bareFloor = (executables: Executables, server: keyof typeof bareNames) => {
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
