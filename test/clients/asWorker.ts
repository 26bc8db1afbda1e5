import { isBuiltin } from "node:module"
import { runInNewContext } from "node:vm"

/** What a Worker has without compatibility flags, beside ECMAScript itself, as far as any program here wants it. */
const webStandards = [
  ...["fetch", "Request", "Response", "Headers", "FormData", "URL", "URLSearchParams", "Blob", "File"],
  ...["crypto", "Crypto", "CryptoKey", "SubtleCrypto", "TextEncoder", "TextDecoder", "atob", "btoa"],
  ...["ReadableStream", "WritableStream", "TransformStream", "TextDecoderStream", "TextEncoderStream"],
  ...["AbortController", "AbortSignal", "Event", "EventTarget", "DOMException", "WebAssembly"],
  ...["setTimeout", "clearTimeout", "setInterval", "clearInterval", "queueMicrotask", "structuredClone"],
  ...["console", "performance"]
]

type Module<Env> = { readonly fetch: (request: Request, env: Env) => Promise<Response> }

/**
 * A module of Workers, bundled by their conditions and with no module of Node's or Bun's, and run where a global that
 * they do not have is not there. It is no workerd: the engine is Bun's.
 */
export const asWorker = async <Env>(file: string): Promise<Module<Env>> => {
  const builtins: Array<string> = []
  const built = await Bun.build({
    entrypoints: [file],
    target: "browser",
    format: "cjs",
    conditions: ["workerd", "worker"],
    throw: false,
    plugins: [
      {
        name: "no builtins",
        setup: (build) => {
          build.onResolve({ filter: /^[^./]/ }, ({ path }) => {
            if (isBuiltin(path) || path.startsWith("bun")) builtins.push(path)
            return undefined
          })
        }
      }
    ]
  })
  const [output] = built.outputs
  if (output === undefined || builtins.length > 0)
    throw new Error(`no module of Workers: ${builtins.join()} ${built.logs.join("\n")}`)
  const ofLanguage: ReadonlyArray<string> = runInNewContext("Object.getOwnPropertyNames(globalThis)")
  const theirs = new Set([...ofLanguage, ...webStandards])
  const realm: Record<string, unknown> = { navigator: { userAgent: "Cloudflare-Workers" } }
  for (const name of theirs) realm[name] = Reflect.get(globalThis, name)
  realm.globalThis = realm
  const others = Object.getOwnPropertyNames(globalThis).filter((name) => !theirs.has(name) && /^\w+$/.test(name))
  const names = [...new Set([...others, "require", "navigator"])]
  const module = { exports: {} as { readonly default?: Module<Env> } }
  const run = new Function("globalThis", "module", "exports", ...names, await output.text())
  run(realm, module, module.exports, ...names.map((name) => realm[name]))
  if (module.exports.default === undefined) throw new Error("the module exports nothing")
  return module.exports.default
}
