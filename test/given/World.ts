import { Context, Effect, Layer, Logger, Option, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { layer as joseSignatures } from "../../adapters/jose/Signatures.ts"
import * as Memory from "../../adapters/memory/Memory.ts"
import type { ClientMember } from "../../core/client/ClientMember.ts"
import { layer as fetchedKeys } from "../../core/engine/FetchedKeys.ts"
import { clientOwner } from "../../core/engine/Records.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import type { Endpoint } from "../../core/http/Route.ts"
import type { ClientAuth } from "../../core/oauth/clients/ClientAuth.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { endpoints } from "../../core/oauth/endpoints/table.ts"
import type { GrantType } from "../../core/oauth/grants/GrantType.ts"
import type { Needs } from "../../core/oauth/presented/guard.ts"
import type { Presentation } from "../../core/oauth/presented/Presentation.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { Audit, type AuditEntry } from "../../core/ports/Audit.ts"
import { Documents } from "../../core/ports/Documents.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { type Profile, ResourceOwner, type SignedIn, type UserPlace } from "../../core/ports/ResourceOwner.ts"
import { Signatures, type Wrapping } from "../../core/ports/Signatures.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { type Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { type Guarded, makeTessera, Tessera, type TesseraOptions } from "../../core/Tessera.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { type KeyRing, Keys, makeSealer, sealKey } from "../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type Away, type Calls, countingStorage } from "./countingStorage.ts"

const adapter: Signatures["Service"] = Effect.runSync(
  Effect.scoped(Effect.map(Layer.build(joseSignatures), (built) => Context.get(built, Signatures)))
)

const madeBefore: Wrapping = { key: Redacted.make(new Uint8Array(32)), boundTo: "the tests" }
const rsaKeys = Array.from({ length: 8 }, () =>
  Effect.runSync(Effect.cached(adapter.makeKey("RS256", () => madeBefore)))
)
let rsaKeysTaken = 0

/**
 * Signatures as the server and `createTessera` have them. Making an RSA key takes as long as some tests together, so that
 * a few are made and come again after a while.
 */
export const realSignatures: Signatures["Service"] = {
  ...adapter,
  makeKey: (algorithm, wrappingOf) => {
    const made = rsaKeys[rsaKeysTaken % rsaKeys.length]
    if (made === undefined || !/^[PR]S/.test(algorithm)) return adapter.makeKey(algorithm, wrappingOf)
    rsaKeysTaken++
    return Effect.flatMap(made, ({ publicKey, wrapped }) =>
      Effect.map(adapter.rewrap({ wrapped, wrapping: madeBefore }, wrappingOf(publicKey)), (wrapped) => ({
        publicKey,
        wrapped
      }))
    )
  }
}

/** In the future, so that code that reads the wall clock fails its test. */
export const t0 = Date.UTC(2031, 0, 1)

export const theWorkspace: Workspace = {
  id: WorkspaceId.make("home"),
  issuer: Issuer.make("https://auth.example.com"),
  name: "Example"
}

export interface WorldOptions {
  readonly policy?: Partial<Policy>
  readonly workspaces?: ReadonlyArray<Workspace>
  /** Replaces the workspaces' own resolution, as a host can. */
  readonly resolve?: Workspaces["Service"]["resolve"]
  /** Asked where `resolve` knows none. */
  readonly find?: NonNullable<Workspaces["Service"]["find"]>
  readonly registration?: Layer.Layer<RegistrationPolicy>
  /** A host's endpoints, before the protocol's. */
  readonly endpoints?: ReadonlyArray<Endpoint>
  readonly clientAuths?: ReadonlyArray<ClientAuth>
  readonly clientMembers?: ReadonlyArray<ClientMember>
  readonly presentations?: ReadonlyArray<Presentation>
  readonly signatures?: Signatures["Service"]
  /** What the server fetches, keys of clients among it, and by which adapter; without one, it fetches nothing. */
  readonly documents?: Documents["Service"] | Layer.Layer<Documents>
  /** All grant types, instead of the protocol's own. */
  readonly grants?: ReadonlyArray<GrantType>
  readonly limiter?: Layer.Layer<Limiter>
  readonly pages?: Layer.Layer<Pages>
  /** The places of people, whose host has some. */
  readonly places?: (user: string) => ReadonlyArray<UserPlace>
  /** Instead of one in memory. */
  readonly store?: Layer.Layer<Storage>
  readonly seed?: string
  /** How the host finds people by what issuers assert; `unknown`: it finds no person. */
  readonly asserted?: "unknown" | NonNullable<ResourceOwner["Service"]["asserted"]>
  /** How the host asks for a password once more, where it does. */
  readonly confirm?: NonNullable<ResourceOwner["Service"]["confirm"]>
  /** What is known of each person, beside their name. */
  readonly profile?: Omit<Profile, "sub">
  /** What the host says that it can tell; without it, all. */
  readonly claims?: ReadonlyArray<string>
  readonly mayMove?: TesseraOptions["mayMove"]
  readonly claimScopes?: NonNullable<TesseraOptions["claimScopes"]>
  /** Workspaces are opened by their first request, and not before the body begins. */
  readonly unopened?: boolean
  /** Replaces the seeded entropy. */
  readonly entropy?: Entropy["Service"]
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Sends this person's session along. */
  readonly as?: string
  readonly host?: string
  /** The client's address; without one, limits by address count nothing. */
  readonly peer?: string
}

/** A client is registered in `theWorkspace`, as far as the store knows. */
export const aClient = (storage: Storage["Service"]) =>
  storage.insert({
    workspace: theWorkspace.id,
    kind: "client",
    id: "somebody",
    owner: clientOwner,
    expiresAt: null,
    body: {}
  })

/** A whole authorization server in memory, on a test clock; it keeps everything that it logs. */
export interface World {
  readonly send: (method: string, target: string, sent?: Sent) => Effect.Effect<HttpResponse>
  readonly guard: (target: string, needs: Needs, headers: Readonly<Record<string, string>>) => Effect.Effect<Guarded>
  readonly services: Tessera["Service"]["services"]
  readonly routes: Tessera["Service"]["routes"]
  readonly workspace: Workspace
  readonly storage: Storage["Service"]
  readonly calls: Calls
  /** The calls that the store does not answer. */
  readonly away: Away
  readonly audit: Array<AuditEntry>
  readonly log: Array<string>
  /** The text of a secret that is shown once. */
  readonly reveal: (secret: Redacted.Redacted<string>) => string
  /** Another process over the same store. */
  readonly elsewhere: Effect.Effect<World>
  readonly turnRing: (change: (ring: KeyRing) => KeyRing) => void
}

const seededEntropy = (seed: string): Entropy["Service"] => {
  const draw = drawFrom(seed)
  return { bytes: (length) => Uint8Array.from({ length }, () => draw.below(256)) }
}

export const keyFrom = (byte: number) => sealKey(new Uint8Array(32).fill(byte))

/** An issuer may know one person by several names: `work|alice` is alice, too. */
const personOf: NonNullable<ResourceOwner["Service"]["asserted"]> = (_workspace, { subject }, make) => {
  const user = subject.replace(/^work\|/, "")
  return Effect.succeed(make || ["alice", "bob"].includes(user) ? Option.some(UserId.make(user)) : Option.none())
}

const people = (
  gone: ReadonlySet<string>,
  {
    asserted = personOf,
    claims,
    confirm,
    places,
    profile = {}
  }: Pick<WorldOptions, "asserted" | "claims" | "confirm" | "places" | "profile">
): ResourceOwner["Service"] => ({
  ...(claims === undefined ? {} : { claims }),
  ...(confirm === undefined ? {} : { confirm }),
  ...(places === undefined ? {} : { places: (_workspace, user) => Effect.sync(() => places(user)) }),
  current: (_workspace, request) =>
    Effect.sync(() => {
      const cookie = request.headers.get("cookie") ?? ""
      const name = /(?:^|; )person=([a-z]+)/.exec(cookie)?.[1]
      const session = /(?:^|; )session=([a-z]+)/.exec(cookie)?.[1]
      const outlasting = /(?:^|; )name=([a-z]+)/.exec(cookie)?.[1]
      const before = /(?:^|; )before=([a-z]+)/.exec(cookie)?.[1]
      const acr = /(?:^|; )acr=(\w+)/.exec(cookie)?.[1]
      const since = /(?:^|; )since=(\d+)/.exec(cookie)?.[1]
      return name === undefined
        ? Option.none<SignedIn>()
        : Option.some({
            ...signedIn(name, session),
            ...(outlasting === undefined ? {} : { name: outlasting }),
            ...(before === undefined ? {} : { before: [before] }),
            ...(acr === undefined ? {} : { acr, amr: ["pwd"] }),
            ...(since === undefined ? {} : { authenticatedAt: Instant.make(Number(since)) })
          })
    }),
  signOut: () => Effect.succeed([["set-cookie", "person=; Max-Age=0"]]),
  signInAt: (_workspace, returnTo) => `/login?return_to=${encodeURIComponent(returnTo)}`,
  ...(asserted === "unknown" ? {} : { asserted }),
  profile: (_workspace, user) =>
    Effect.sync(() =>
      gone.has(user) ? Option.none<Profile>() : Option.some({ name: `Mx ${user}`, ...profile, sub: user })
    )
})

const signedIn = (name: string, session = `session-of-${name}`): SignedIn => ({
  user: UserId.make(name),
  session,
  label: `${name}@example.com`,
  role: name.startsWith("owner") ? "owner" : "member"
})

const documentsOf = (given: NonNullable<WorldOptions["documents"]>): Layer.Layer<Documents> =>
  "fetch" in given ? Layer.succeed(Documents, given) : given

const workspacesOf = ({ find, resolve, workspaces }: WorldOptions): Layer.Layer<Workspaces> => {
  if (find !== undefined) return Layer.succeed(Workspaces, { resolve: resolve ?? (() => undefined), find })
  if (resolve !== undefined) return Layer.succeed(Workspaces, { resolve })
  return workspaces === undefined ? Workspaces.layerOne(theWorkspace) : Workspaces.layerByHost(workspaces)
}

/** What a test does: an effect, or the steps of one as a generator yields them. */
export type Steps<A> = Effect.Effect<A, unknown> | Effect.fn.Return<A, unknown>

/** Runs a test's body in a new world. */
export const inWorld = <A>(body: (world: World) => Steps<A>, options: WorldOptions = {}): Promise<A> => {
  const audit: Array<AuditEntry> = []
  const log: Array<string> = []
  const calls: Calls = { get: [], insert: [], replace: [], remove: [], list: [] }
  const away: Away = new Set()
  let ring: KeyRing = [keyFrom(1)]
  let sealer = makeSealer(ring)

  const logger = Logger.make((entry) => {
    log.push(JSON.stringify([entry.message, String(entry.cause)]))
  })
  const storage = countingStorage(calls, away).pipe(Layer.provideMerge(options.store ?? Memory.layer))
  const ports = Layer.mergeAll(
    storage,
    Layer.succeed(Entropy, options.entropy ?? seededEntropy(options.seed ?? "world")),
    Layer.succeed(Keys, { current: () => sealer }),
    Layer.succeed(Audit, { record: (entry) => Effect.sync(() => void audit.push(entry)) }),
    Layer.succeed(ResourceOwner, people(new Set(["gone"]), options)),
    options.registration ?? RegistrationPolicy.layerOpen,
    options.pages ?? Pages.layer(),
    options.limiter ?? Limiter.layerNone,
    workspacesOf(options),
    options.signatures === undefined ? Layer.empty : Layer.succeed(Signatures, options.signatures),
    options.documents === undefined ? Layer.empty : Layer.provideMerge(fetchedKeys, documentsOf(options.documents))
  )
  const policy = { ...standardPolicy, workspaceAccess: "registered" as const, ...options.policy }
  const composed = {
    policy,
    endpoints: [...(options.endpoints ?? []), ...endpoints],
    clientAuths: options.clientAuths ?? clientAuths,
    ...(options.clientMembers === undefined ? {} : { clientMembers: options.clientMembers }),
    presentations: options.presentations ?? presentations,
    ...(options.grants === undefined ? {} : { grants: options.grants }),
    ...(options.mayMove === undefined ? {} : { mayMove: options.mayMove }),
    ...(options.claimScopes === undefined ? {} : { claimScopes: options.claimScopes })
  }

  const program = Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const storage = yield* Storage
    const context = yield* Effect.context<Effect.Services<ReturnType<typeof makeTessera>>>()
    const worldOf = (server: Tessera["Service"]): World => ({
      send: (method, target, sent = {}) => server.handle(requestOf(method, target, sent)),
      guard: (target, needs, headers) => server.guard(requestOf("GET", target, { headers }), needs),
      services: server.services,
      routes: server.routes,
      workspace: options.workspaces?.[0] ?? theWorkspace,
      storage,
      elsewhere: Effect.map(Effect.provideContext(makeTessera(composed), context), worldOf),
      calls,
      away,
      audit,
      log,
      reveal: Redacted.value,
      turnRing: (change) => {
        ring = change(ring)
        sealer = makeSealer(ring)
      }
    })
    const server = yield* Tessera
    if (options.unopened !== true) {
      for (const workspace of options.workspaces ?? [theWorkspace]) yield* Effect.orDie(server.open(workspace))
      for (const made of Object.values(calls)) made.length = 0
    }
    return yield* body(worldOf(server))
  })
  return Effect.runPromise(
    program.pipe(
      Effect.provide(Tessera.layer(composed).pipe(Layer.provideMerge(ports))),
      Effect.provide(Layer.merge(TestClock.layer(), Logger.layer([logger]))),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  )
}

export const requestOf = (method: string, target: string, sent: Sent): HttpRequest => {
  const [path = "/", ...query] = target.split("?")
  const headers = new Headers(sent.headers)
  if (sent.as !== undefined) headers.append("cookie", `person=${sent.as}`)
  if (sent.host !== undefined) headers.set("host", sent.host)
  return { method, path, query: query.join("?"), headers, body: sent.body ?? "", peer: sent.peer }
}
