import { writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { freePort } from "./freePort.ts"
import { type Server, type ServerFailed, startServer } from "./Server.ts"
import { throwawayFolder } from "./throwawayFolder.ts"

export interface Workers {
  /** The source of a module that serves by `fetch`. */
  readonly module: string
  /** What it finds in its `env`, by name: anything that JSON has. */
  readonly env?: Readonly<Record<string, unknown>>
  /** A class of the module's, of which `env` has the namespace by the same name. Its objects keep nothing. */
  readonly durableObject?: string
  /** Whether Node's modules are to be had, which Workers have by themselves since August of 2026. Default: `false`. */
  readonly hasNodes?: boolean
  /** The authority for the https servers that it fetches from, as PEM. Default: none. */
  readonly ca?: string
  /** Default: a free one. */
  readonly port?: number
}

/** Whatever is newer changes a test's outcome only with the engine, which has a version of its own. */
const compatibilityDate = "2026-11-01"

/** By the conditions of Workers. What their engine itself has, or refuses, is left to it. */
const bundle = async (module: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [module],
    target: "browser",
    format: "esm",
    conditions: ["workerd", "worker"],
    external: [...builtinModules, "node:*", "bun", "bun:*", "cloudflare:*"],
    throw: false
  })
  const [output] = built.outputs
  if (output === undefined) throw new Error(`${module} cannot be bundled:\n${built.logs.join("\n")}`)
  return output.text()
}

/** Bundling takes longer than all else here. */
const bundles = new Map<string, Promise<string>>()

const bundleOf = (module: string): Promise<string> => {
  const made = bundles.get(module) ?? bundle(module)
  bundles.set(module, made)
  return made
}

/** Each alone leaves some of them. */
const withoutNodes = `compatibilityFlags = ["no_nodejs_compat", "no_nodejs_compat_v2"],`

/** Cap'n Proto. All that is not a name of the test's own lies in files beside it. */
const configOf = ({ ca, durableObject, env = {}, hasNodes = false }: Workers, port: number): string => {
  const bindings = Object.keys(env).map((name) => `(name = "${name}", json = embed "${name}.json")`)
  if (durableObject !== undefined)
    bindings.push(`(name = "${durableObject}", durableObjectNamespace = "${durableObject}")`)
  const objects =
    durableObject === undefined
      ? ""
      : `durableObjectNamespaces = [(className = "${durableObject}", uniqueKey = "${durableObject}")],
  durableObjectStorage = (inMemory = void),`
  const tls = ca === undefined ? "" : `, tlsOptions = (trustedCertificates = [embed "ca.pem"])`
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["local"]${tls}))
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "main", esModule = embed "main.js")],
  compatibilityDate = "${compatibilityDate}",
  ${hasNodes ? "" : withoutNodes}
  ${objects}
  bindings = [${bindings.join(", ")}]
);
`
}

/** A module in the engine of Workers, which is `workerd()`. */
export const startWorkers = Effect.fnUntraced(function* (
  engine: string,
  workers: Workers
): Effect.fn.Return<Server, ServerFailed, Scope.Scope> {
  const folder = yield* throwawayFolder("workers")
  writeFileSync(join(folder, "main.js"), yield* Effect.promise(() => bundleOf(workers.module)))
  for (const [name, value] of Object.entries(workers.env ?? {}))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(value))
  if (workers.ca !== undefined) writeFileSync(join(folder, "ca.pem"), workers.ca)
  const port = workers.port ?? (yield* freePort)
  writeFileSync(join(folder, "config.capnp"), configOf(workers, port))
  const url = `http://127.0.0.1:${port}`
  return yield* startServer({
    name: "workerd",
    url,
    port,
    folder,
    command: engine,
    args: ["serve", "config.capnp"],
    user: undefined,
    stopSignal: "SIGTERM",
    discardSignal: "SIGKILL",
    answers: Effect.promise(() =>
      fetch(url).then(
        () => true,
        () => false
      )
    )
  })
})
