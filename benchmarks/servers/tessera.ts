import "../../runtimes/server/compileSchemas.ts"
import "../../runtimes/serve/platformHashing.ts"
import { Effect, Layer, ManagedRuntime, Option, Redacted, Scope } from "effect"
import { makeDocuments } from "../../adapters/documents/makeDocuments.ts"
import { layer as signatures } from "../../adapters/jose/Signatures.ts"
import { CacheSize } from "../../core/engine/caches.ts"
import { layer as sharedLimiter } from "../../core/limits/SharedLimiter.ts"
import { Audit } from "../../core/ports/Audit.ts"
import { Documents } from "../../core/ports/Documents.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { type Allowance, Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner } from "../../core/ports/ResourceOwner.ts"
import { kinds, type Storage, StorageScan } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { UserId } from "../../core/rules/Id.ts"
import { isAlgorithm } from "../../core/rules/Jwk.ts"
import { type Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { type Serve, serveWith } from "../../core/serve.ts"
import { Tessera } from "../../core/Tessera.ts"
import { Keys, sealKey } from "../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { limitConcurrency, requestsAtOnce } from "../../runtimes/serve/limitConcurrency.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { auditLog } from "../../runtimes/server/auditLog.ts"
import { logging } from "../../runtimes/server/logging.ts"
import { standardError } from "../../runtimes/server/standardError.ts"
import { argument, obey, portOf, redirectUri } from "./serving.ts"
import { makePlans } from "./tessera/plans.ts"

/** The adapter for a store, with the settings that it has by default. */
const openStore = (url: string, alone: boolean): Layer.Layer<Storage, Error> => {
  const [scheme] = url.split(":", 1)
  switch (scheme) {
    case "memory":
      return lazily(async () => (await import("../../adapters/memory/MemoryStorage.ts")).layerAtOnce)
    case "sqlite": {
      const path = url.slice("sqlite:".length)
      return alone
        ? lazily(async () => (await import("./tessera/alone.ts")).sqliteAlone(path))
        : lazily(async () => (await import("../../adapters/sqlite/SqliteStorage.ts")).layerAtOnce({ path }))
    }
    case "postgres":
      return alone
        ? lazily(async () => (await import("./tessera/alone.ts")).postgresAlone(url))
        : lazily(async () => (await import("../../adapters/postgres/Postgres.ts")).layer({ url: Redacted.make(url) }))
    case "redis":
      return lazily(async () => (await import("../../adapters/redis/Redis.ts")).layer({ url, pipelining: !alone }))
    default:
      throw new Error(`no store for ${url}`)
  }
}

const lazily = <E extends Error>(load: () => Promise<Layer.Layer<Storage, E>>): Layer.Layer<Storage, Error> =>
  Layer.unwrap(Effect.promise(load))

export interface Options {
  readonly store: string
  /** Without anything that lets calls travel together. */
  readonly alone: boolean
  readonly workspaces: number
  /** Which of the duties that `npm start` has on are off. */
  readonly without: ReadonlyArray<string>
  /** What signs, where anybody does. */
  readonly signing: string
  /** Programs come that nobody has registered. */
  readonly strangers: boolean
}

/** Of whoever has a cookie. */
const ada = Option.some({ user: UserId.make("ada"), session: "1", label: "ada@example.org", role: "owner" as const })

const people = Layer.succeed(ResourceOwner, {
  current: (_, { headers }) => Effect.succeed(headers.get("cookie") === null ? Option.none() : ada),
  signInAt: () => "/login",
  profile: (_, sub) => Effect.succeedSome({ sub, name: "Ada Lovelace" })
})

/** Many are told apart by host, as a hosted installation does. */
const workspacesOf = (count: number): ReadonlyArray<Workspace> =>
  Array.from({ length: count }, (_, n) => ({
    id: WorkspaceId.make(n === 0 ? "default" : `workspace-${n}`),
    issuer: Issuer.make(n === 0 ? "http://127.0.0.1:3000" : `https://w${n}.example.org`),
    name: "Benchmark"
  }))

const utf8 = new TextEncoder()

/** The adapter, with its cache and its limits, over a network that has a document at every address. */
const documents = Layer.effect(
  Documents,
  makeDocuments(
    {
      get: ({ url: { href } }) => {
        const document = {
          client_id: href,
          client_name: "Benchmark",
          redirect_uris: [redirectUri],
          grant_types: ["authorization_code", "refresh_token"],
          token_endpoint_auth_method: "none"
        }
        const header = (name: string) => (name === "cache-control" ? "max-age=86400" : undefined)
        return Effect.succeed({ status: 200, header, body: utf8.encode(JSON.stringify(document)) })
      },
      post: () => Effect.succeed(200)
    },
    new Set()
  )
)

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
    return { take: (key) => take({ ...key, allowance: wide(key.allowance) }) }
  })
)

const pageSize = 10_000

/** All records of a store that can be scanned. */
const countRows = Effect.gen(function* () {
  const store = yield* Effect.serviceOption(StorageScan)
  if (Option.isNone(store)) return yield* Effect.die(new Error("this store cannot be counted"))
  let rows = 0
  for (const kind of kinds) {
    let after: string | undefined
    do {
      const page = yield* store.value.scan(kind, after, pageSize)
      rows += page.records.length
      after = page.next
    } while (after !== undefined)
  }
  return rows
})

/** The server as `npm start` puts it together: the product's own layers, audit and limits on. */
export const open = async (options: Options) => {
  const workspaces = workspacesOf(options.workspaces)
  const [first] = workspaces
  if (first === undefined) throw new Error("there has to be a workspace")
  const limits = options.without.includes("limits") ? Limiter.layerNone : Layer.provide(roomy, sharedLimiter)
  const given = Layer.merge(openStore(options.store, options.alone), Entropy.layer)
  const ports = Layer.mergeAll(
    Keys.layer(ring),
    options.without.includes("audit") ? Audit.layerNone : auditLog,
    people,
    RegistrationPolicy.layerOpen,
    Pages.layer(),
    workspaces.length === 1 ? Workspaces.layerOne(first) : Workspaces.layerByHost(workspaces),
    isAlgorithm(options.signing) ? signatures : Layer.empty,
    options.strangers ? documents : Layer.empty
  ).pipe(Layer.provideMerge(limits), Layer.provideMerge(given))
  const policy: Policy = {
    ...standardPolicy,
    workspaceAccess: "registered",
    registrationRows: options.strangers ? "at_consent" : "at_once",
    ...(isAlgorithm(options.signing) ? { jwtAlgorithm: options.signing, scopes: signInScopes } : {})
  }
  const runtime = ManagedRuntime.make(
    Tessera.layer({ policy }).pipe(
      Layer.provide([ports, Layer.succeed(CacheSize, options.store.startsWith("sqlite:") ? "small" : "large")]),
      Layer.provideMerge(Layer.mergeAll(logging("json"), standardError("json"), given))
    )
  )
  const { services } = await runtime.runPromise(Effect.map(Tessera, (tessera) => tessera))
  const rows = () => runtime.runPromise(countRows)
  return { rows, serve: limitConcurrency(serveWith(runtime), requestsAtOnce), services, workspaces }
}

/** The listener of the server binary, as it is. */
const onBun = async (serve: Serve): Promise<number> => {
  const { listen } = await import("../../runtimes/bun/listen.ts")
  const scope = Scope.makeUnsafe()
  const options = { host: "127.0.0.1", port: 0, serve, trustedProxies: noProxies }
  const listening = listen({ ...options, requestTimeout: 20_000, shutdownTimeout: 1000 })
  return (await Effect.runPromise(Effect.provideService(listening, Scope.Scope, scope))).port
}

/** The same, but for one thing: each request is answered as it comes, without the others. */
const onBunApart = async (serve: Serve): Promise<number> => {
  const ofBun = await import("../../runtimes/bun.ts")
  const handle = (await import("../../runtimes/fetch.ts")).handler(serve)
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...ofBun.server(serve),
    fetch: (request, server) => handle(request, () => server.requestIP(request)?.address)
  })
  return server.port ?? 0
}

const onNode = async (serve: Serve): Promise<number> => {
  const { server } = await import("../../runtimes/node.ts")
  return portOf(server(serve, { requestTimeout: 20_000, together: true }).server)
}

const alone = argument("coalescing", "on") === "off"
const { rows, serve, services, workspaces } = await open({
  store: argument("store", "memory:"),
  alone,
  workspaces: Number(argument("workspaces", "1")),
  without: argument("without", "").split(","),
  signing: argument("signing", ""),
  strangers: argument("strangers", "no") === "yes"
})
const isNode = argument("runtime", "bun") === "node"
if (alone && isNode) throw new Error("on Node the listener cannot be kept from gathering requests")
const listen = isNode ? onNode : alone ? onBunApart : onBun
const filling = {
  grants: Number(argument("grants", "1000")),
  filled: argument("filled", "no") === "yes",
  clients: Number(argument("clients", "1"))
}
const plans = await Effect.runPromise(makePlans(services, workspaces, filling))
const burn = Number(argument("burn", "0"))
/** A planted fault: `--check` has to see it. */
const burning: Serve = (request) => {
  const end = performance.now() + burn / 1000
  while (performance.now() < end);
  return serve(request)
}
await obey(await listen(burn > 0 ? burning : serve), plans, rows)
