import "../../../runtimes/server/compileSchemas.ts"
import { Effect, Layer, ManagedRuntime, Option } from "effect"
import { CacheSize } from "../../../core/engine/caches.ts"
import { layer as sharedLimiter } from "../../../core/limits/SharedLimiter.ts"
import { Audit } from "../../../core/ports/Audit.ts"
import { Entropy } from "../../../core/ports/Entropy.ts"
import { type Allowance, Limiter } from "../../../core/ports/Limiter.ts"
import { Pages } from "../../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner } from "../../../core/ports/ResourceOwner.ts"
import { Workspaces } from "../../../core/ports/Workspaces.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { Tessera } from "../../../core/Tessera.ts"
import { Keys, sealKey } from "../../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import "../../../runtimes/serve/platformHashing.ts"
import { serveWith } from "../../../core/serve.ts"
import { limitConcurrency, requestsAtOnce } from "../../../runtimes/serve/limitConcurrency.ts"
import { auditLog } from "../../../runtimes/server/auditLog.ts"
import { logging } from "../../../runtimes/server/logging.ts"
import { standardError } from "../../../runtimes/server/standardError.ts"
import { openStore } from "./openStore.ts"

export interface Options {
  readonly store: string
  /** Without anything that lets calls travel together. */
  readonly alone: boolean
  readonly workspaces: number
  /** Without audit and limits, which `npm start` has on. */
  readonly plain: boolean
}

/** Nobody is at a browser here. */
const nobody = Layer.succeed(ResourceOwner, {
  current: () => Effect.succeedNone,
  signInAt: () => "/login",
  profile: () => Effect.succeed(Option.none())
})

/** Many are told apart by host, as a hosted installation does. */
const workspacesOf = (count: number): ReadonlyArray<Workspace> =>
  Array.from({ length: count }, (_, n) => ({
    id: WorkspaceId.make(n === 0 ? "default" : `workspace-${n}`),
    issuer: Issuer.make(n === 0 ? "http://127.0.0.1:3000" : `https://w${n}.example.org`),
    name: "Benchmark"
  }))

/** All processes of a run seal by one key, so that a token of one opens in the others. */
const ring = [sealKey(new Uint8Array(32).fill(1))] as const

/**
 * The product's limits, counted as ever, with room for one load generator: it asks for more in a second than all the
 * clients of a workspace do in a minute.
 */
const roomy = Layer.effect(
  Limiter,
  Effect.map(Limiter, ({ take }) => {
    const widened = new Map<Allowance, Allowance>()
    const wide = (allowance: Allowance): Allowance => {
      const known = widened.get(allowance)
      if (known !== undefined) return known
      const made = { ...allowance, burst: 1_000_000_000 }
      widened.set(allowance, made)
      return made
    }
    return { take: (key, cost) => take({ allowance: wide(key.allowance), workspace: key.workspace, of: key.of }, cost) }
  })
)

/** The server as `npm start` puts it together: the product's own layers, audit and limits on. */
export const open = async (options: Options) => {
  const workspaces = workspacesOf(options.workspaces)
  const [first] = workspaces
  if (first === undefined) throw new Error("there has to be a workspace")
  const limits = options.plain ? Limiter.layerNone : Layer.provide(roomy, sharedLimiter)
  const given = Layer.merge(openStore(options.store, options.alone), Entropy.layer)
  const ports = Layer.mergeAll(
    Keys.layer(ring),
    options.plain ? Audit.layerNone : auditLog,
    nobody,
    RegistrationPolicy.layerOpen,
    Pages.layer(),
    workspaces.length === 1 ? Workspaces.layerOne(first) : Workspaces.layerByHost(workspaces)
  ).pipe(Layer.provideMerge(limits), Layer.provideMerge(given))
  const runtime = ManagedRuntime.make(
    Tessera.layer({ policy: standardPolicy }).pipe(
      Layer.provide([ports, Layer.succeed(CacheSize, options.store.startsWith("sqlite:") ? "small" : "large")]),
      Layer.provideMerge(Layer.merge(logging("json"), standardError("json")))
    )
  )
  const { parts } = await runtime.runPromise(Effect.map(Tessera, (tessera) => tessera))
  return { serve: limitConcurrency(serveWith(runtime), requestsAtOnce), parts, workspaces }
}
