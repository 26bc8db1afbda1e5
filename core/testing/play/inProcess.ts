import { sha256 } from "@noble/hashes/sha2.js"
import { Clock, Context, Deferred, Effect, Layer, Logger, Option, Redacted, References } from "effect"
import { isKnown } from "../../client/Client.ts"
import { readClientIdentifier } from "../../client/ClientIdentifier.ts"
import { checkRegistration } from "../../client/RegistrationRequest.ts"
import { clientInformation } from "../../client/register.ts"
import { asksForWorkspace, workspaceStanding } from "../../client/workspaceAccess.ts"
import {
  answerByIdentifier,
  findByIdentifier,
  registerClient,
  setServedResource
} from "../../engine/administerClients.ts"
import { endAll } from "../../engine/administerGrants.ts"
import {
  blockClientHost,
  changeIssuer,
  removeIssuer,
  trustIssuer,
  unblockClientHost
} from "../../engine/administerWorkspace.ts"
import type { UserPrincipal, WorkspacePrincipal } from "../../grant/Principal.ts"
import type { HttpRequest, HttpResponse } from "../../http/Http.ts"
import { Audit, type AuditEntry } from "../../ports/Audit.ts"
import { type Document, DocumentFault, Documents } from "../../ports/Documents.ts"
import { Entropy } from "../../ports/Entropy.ts"
import { allowances, Limiter } from "../../ports/Limiter.ts"
import { Pages } from "../../ports/Pages.ts"
import { RegistrationPolicy } from "../../ports/RegistrationPolicy.ts"
import { ResourceOwner, type SignedIn, type UserPlace } from "../../ports/ResourceOwner.ts"
import { Signatures } from "../../ports/Signatures.ts"
import { Storage, type StorageUnavailable } from "../../ports/Storage.ts"
import { Workspaces } from "../../ports/Workspaces.ts"
import { ClientId, PlaceId, UserId } from "../../rules/Id.ts"
import { hasPassed, Instant, later } from "../../rules/Instant.ts"
import { type Policy, standardPolicy } from "../../rules/Policy.ts"
import { type Contended, TooManyRequests } from "../../rules/Refusal.ts"
import { ResourceAddress } from "../../rules/Resource.ts"
import { openIdScopes, ScopeName, ScopeRegistry, standardScopes } from "../../rules/Scope.ts"
import { makeTessera, type TesseraOptions } from "../../Tessera.ts"
import { type KeyRing, Keys, makeSealer, sealKey } from "../../token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../workspace/Workspace.ts"
import { drawFrom } from "../Draw.ts"
import {
  deviceTtl,
  documentKept,
  type PlaceName,
  placeScopes,
  pushedTtl,
  residents,
  type WorkspaceNumber,
  type World
} from "../model/World.ts"
import { manualClock, withClock } from "./ManualClock.ts"
import { issuerKey, issuerText, scriptSignatures } from "./proofs.ts"
import { nameOf, type SystemUnderTest } from "./SystemUnderTest.ts"
import { troubledStorage } from "./TroubledStorage.ts"

/** The core in this process, and everything that it said. */
export interface InProcess {
  readonly system: SystemUnderTest
  readonly audit: ReadonlyArray<AuditEntry>
  readonly log: ReadonlyArray<string>
  /** The sealing keys that were ever on the ring: what must never be seen anywhere. */
  readonly keys: () => ReadonlyArray<Uint8Array>
}

const utf8 = new TextEncoder()

const workspaceOf = ({ issuers, jwts }: World, number: WorkspaceNumber): Workspace => ({
  id: WorkspaceId.make(`workspace-${number}`),
  issuer: Issuer.make(issuers[number]),
  name: `Workspace ${number}`,
  ...(jwts === true
    ? { resources: [{ at: ResourceAddress.make(`${issuers[number]}/`), name: "All", accessTokenFormat: "jwt" }] }
    : {})
})

export const workspacesOf = (world: World): ReadonlyArray<Workspace> => [workspaceOf(world, 0), workspaceOf(world, 1)]

const withAdmin: ScopeRegistry = [
  ...standardScopes,
  {
    name: ScopeName.make("admin"),
    meaning: "Look after everything",
    needsUser: true,
    byDefault: false,
    implies: [ScopeName.make("api")]
  }
]

const policyOf = (world: World): Policy => ({
  ...standardPolicy,
  consentTtl: world.consentTtl,
  pushedTtl,
  deviceTtl,
  codeTtl: world.codeTtl,
  accessTtl: world.accessTtl,
  refreshIdleTtl: world.refreshIdleTtl,
  refreshMaxTtl: world.refreshMaxTtl,
  refreshGrace: world.refreshGrace,
  requirePkce: world.requirePkce,
  workspaceAccess: world.workspaceAccess,
  ...(world.rowsAtConsent === true ? { registrationRows: "at_consent" as const } : {}),
  scopes: ScopeRegistry.make([
    ...(world.apis === true ? withAdmin : standardScopes),
    ...(world.openId === true ? openIdScopes : [])
  ])
})

/** What the host knows of its people, whatever becomes of the process. */
interface Known {
  readonly belonging: Map<string, ReadonlyArray<PlaceName>>
  /** Whom issuers of assertions let in. */
  readonly guests: Set<string>
  /** The sessions of a person that may have ended. */
  readonly ended: Map<string, ReadonlyArray<string>>
}

const personIn = (workspace: WorkspaceId, user: string): string => `${workspace} ${user}`

const placeOf = (name: PlaceName): UserPlace => {
  const scopes = placeScopes[name]
  const most = scopes === null ? {} : { scopes: scopes.map((scope) => ScopeName.make(scope)) }
  return { id: PlaceId.make(name), label: `The ${name}`, ...most }
}

/** As applications know the session of a person, and those before it. */
const sessionOf = ({ ended }: Known, workspace: WorkspaceId, user: string) => {
  const before = ended.get(personIn(workspace, user)) ?? []
  return { name: `session-${before.length}-of-${user}`, before }
}

/** A person who was to be signed out signs in again by their next request, whatever became of it. */
const signsOut = (known: Known, workspace: WorkspaceId, user: string): ReadonlyArray<string> => {
  const { before, name } = sessionOf(known, workspace, user)
  const ended = [...before, name]
  known.ended.set(personIn(workspace, user), ended)
  return ended
}

/** The person whom the cookie names is signed in. */
const peopleOf = (world: World, known: Known): ResourceOwner["Service"] => ({
  current: ({ id }, request) =>
    Effect.sync(() => {
      const user = /^person=([a-z-]+)$/.exec(request.headers.get("cookie") ?? "")?.[1]
      if (user === undefined) return Option.none<SignedIn>()
      const here = signedIn(world, user, sessionOf(known, id, user))
      if (request.path.endsWith("/oauth/logout")) signsOut(known, id, user)
      return Option.some(here)
    }),
  signInAt: (_workspace, returnTo) => `/login?return_to=${encodeURIComponent(returnTo)}`,
  ...(world.signOuts === true ? { signOut: () => Effect.succeed([]) } : {}),
  ...(world.places === true
    ? {
        places: ({ id }, user) => Effect.sync(() => (known.belonging.get(personIn(id, user)) ?? []).map(placeOf))
      }
    : {}),
  asserted: ({ id }, { subject }, make) =>
    Effect.sync(() => {
      const guest = personIn(id, subject)
      if (make) known.guests.add(guest)
      return residents.includes(subject) || known.guests.has(guest) ? Option.some(UserId.make(subject)) : Option.none()
    }),
  profile: (_workspace, user) => Effect.succeedSome({ sub: user, name: nameOf(user) })
})

const signedIn = (world: World, user: string, known: Pick<SignedIn, "name" | "before">): SignedIn => ({
  user: UserId.make(user),
  session: `forms-of-${user}`,
  ...known,
  authenticatedAt: Instant.make(world.startsAt),
  label: `${user}@example.com`,
  role: "member"
})

/** RFC 8693 §4.1: within each actor stands the one that acted before. */
const actOf = ([last, ...before]: ReadonlyArray<string>): object =>
  last === undefined ? {} : { act: { sub: last, ...actOf(before) } }

const toldByGuard = (principal: UserPrincipal | WorkspacePrincipal): HttpResponse => {
  const { client, resources, scope } = principal
  const common = { client_id: client, scope: scope.join(" "), ...(resources === null ? {} : { aud: resources }) }
  const body =
    principal._tag === "Workspace"
      ? common
      : {
          ...common,
          sub: principal.user,
          place: principal.place,
          ...actOf(principal.actors ?? [])
        }
  return { status: 200, headers: [], body: JSON.stringify(body) }
}

const seededBytes = (seed: number): Entropy["Service"] => {
  const draw = drawFrom(`entropy ${seed}`)
  return { bytes: (length) => Uint8Array.from({ length }, () => draw.below(256)) }
}

/** Devices poll at their pace (RFC 8628 §3.5); nothing else is limited. */
const paceOfDevices = (now: () => number): Limiter["Service"] => {
  const polls = new Map<string, number>()
  return {
    take: ({ allowance, of, workspace }) =>
      Effect.suspend(() => {
        if (allowance !== allowances.devicePoll) return Effect.void
        const whose = `${workspace} ${of}`
        const again = (polls.get(whose) ?? Number.NEGATIVE_INFINITY) + allowance.refill
        if (now() >= again) return Effect.sync(() => void polls.set(whose, now()))
        const retryAfterSeconds = Math.ceil((again - now()) / 1000)
        return Effect.fail(new TooManyRequests({ limit: allowance.name, retryAfterSeconds }))
      })
  }
}

/** What scripts publish, as a fetcher finds it that keeps it for as long as it may: a process that is killed loses none of that. */
const networkOf = (published: ReadonlyMap<string, object>, now: () => number): Documents["Service"] => {
  const kept = new Map<string, Document>()
  return {
    post: Documents.none.post,
    fetch: (address, _limits, asOf) =>
      Effect.suspend(() => {
        const at = Instant.make(now())
        const known = kept.get(address)
        if (known !== undefined && !hasPassed(known.freshUntil, at) && known.fetchedAt >= (asOf ?? known.fetchedAt)) {
          return Effect.succeed(known)
        }
        const found = published.get(address)
        if (found === undefined) return Effect.fail(new DocumentFault({ reason: "status" }))
        const document = { body: JSON.stringify(found), fetchedAt: at, freshUntil: later(at, documentKept) }
        kept.set(address, document)
        return Effect.succeed(document)
      })
  }
}

const told = (outcome: string): HttpResponse => ({ status: 200, headers: [], body: JSON.stringify({ outcome }) })

const killed: HttpResponse = { status: 503, headers: [["retry-after", "1"]], body: "" }

/** A store that is away, as a client is told of it over HTTP. */
const orUnavailable = <A>(done: Effect.Effect<A, StorageUnavailable | Contended>): Effect.Effect<A | HttpResponse> =>
  Effect.catchTag(done, ["StorageUnavailable", "Contended"], () => Effect.succeed(killed))

const sweptAtOnce = 1000

/** Starts the core over the store of the context, with its clock, chance, keys and people in the script's hand. */
export const inProcess = Effect.fnUntraced(function* (
  world: World,
  /** What else the host composes its server of. */
  rows: Pick<TesseraOptions, "clientAuths" | "clientMembers" | "grants" | "presentations"> = {}
) {
  const clock = manualClock(world.startsAt)
  const audit: Array<AuditEntry> = []
  const log: Array<string> = []
  const logger = Logger.make((entry) => {
    log.push(JSON.stringify([entry.message, String(entry.cause)]))
  })

  const keyBytes = (number: number) => sha256(utf8.encode(`key ${number} of ${world.seed}`))
  const keyNumber = (number: number) => sealKey(keyBytes(number))
  let made = 1
  let ring: KeyRing = [keyNumber(1)]
  let sealer = makeSealer(ring)

  let death = Deferred.makeUnsafe<HttpResponse>()
  const kill = Effect.andThen(
    Effect.sync(() => Deferred.doneUnsafe(death, Effect.succeed(killed))),
    // Death waits for no clean-up.
    Effect.interruptible(Effect.never)
  )
  const troubled = troubledStorage(yield* Storage, kill)

  // The ports that rows ask for, which a process that was killed has again when it starts.
  const ambient = yield* Effect.context<never>()
  const signatures = Option.getOrElse(yield* Effect.serviceOption(Signatures), () => Signatures.none)
  const known: Known = { belonging: new Map(), guests: new Set(), ended: new Map() }
  const limiter = paceOfDevices(clock.now)
  const published = new Map<string, object>()
  const network = networkOf(published, clock.now)
  const start = makeTessera({ policy: policyOf(world), ...rows }).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.succeed(Storage, troubled.storage),
        Layer.succeed(Entropy, seededBytes(world.seed)),
        Layer.succeed(Keys, { current: () => sealer }),
        Layer.succeed(Audit, { record: (entry) => Effect.sync(() => void audit.push(entry)) }),
        Layer.succeed(ResourceOwner, peopleOf(world, known)),
        RegistrationPolicy.layerOpen,
        Layer.succeed(Limiter, limiter),
        Pages.layer(),
        Workspaces.layerByHost(workspacesOf(world)),
        // Without it the core knows no keys.
        [world.keys, world.openId, world.assertions, world.signers, world.jwts].includes(true)
          ? Layer.succeed(Signatures, scriptSignatures(signatures))
          : Layer.empty,
        world.documents === true ? Layer.succeed(Documents, network) : Layer.empty
      ),
      { local: true }
    ),
    // As a server does when it starts: what is left of the requests is the protocol's.
    Effect.tap(({ open }) => Effect.orDie(Effect.forEach(workspacesOf(world), open))),
    withClock(clock),
    Effect.provideContext(ambient)
  )
  let server = yield* start

  const surroundings = Context.make(Clock.Clock, clock.clock).pipe(
    Context.add(Logger.CurrentLoggers, new Set([logger])),
    Context.add(References.MinimumLogLevel, "All")
  )

  /** A process that was killed takes its memory with it. */
  const afterDeath = Effect.gen(function* () {
    death = Deferred.makeUnsafe()
    server = yield* start
    return killed
  })

  const untilDeath = <A>(answer: Effect.Effect<A>): Effect.Effect<A | HttpResponse> =>
    Effect.provideContext(Effect.raceFirst(answer, Effect.andThen(Deferred.await(death), afterDeath)), surroundings)

  /** A step of the script that is no request. */
  const done = (task: Effect.Effect<unknown, StorageUnavailable | Contended>) =>
    untilDeath(orUnavailable(Effect.as(task, null)))

  const request = (asked: HttpRequest): Effect.Effect<HttpResponse> =>
    Effect.suspend(() => untilDeath(server.handle(asked)))

  const turnRing = (change: (ring: KeyRing) => KeyRing) =>
    Effect.sync(() => {
      ring = change(ring)
      sealer = makeSealer(ring)
    })

  const workspaceAt = (number: WorkspaceNumber): Workspace => workspaceOf(world, number)
  const byOwner = (number: WorkspaceNumber) =>
    ({ workspace: workspaceAt(number).id, requestId: "script", by: "command line" }) as const

  const system: SystemUnderTest = {
    request,
    guard: (asked) =>
      Effect.suspend(() =>
        untilDeath(
          Effect.map(server.guard(asked, { scopes: ["api"], callers: ["User", "Workspace"] }), (guarded) =>
            guarded._tag === "Refused" ? guarded.response : toldByGuard(guarded.principal)
          )
        )
      ),
    signIn: (_workspace, user) => Effect.succeed([["cookie", `person=${user}`]]),
    publish: (address, document) =>
      Effect.sync(() => {
        if (document === null) published.delete(address)
        else published.set(address, document)
      }),
    blockHost: (number, host, blocks) => {
      const { services } = server
      const said = Effect.gen(function* () {
        const workspace = yield* services.openings.open(workspaceAt(number))
        if (blocks) yield* blockClientHost(services, byOwner(number), workspace, host)
        else yield* unblockClientHost(services, byOwner(number), workspace, host)
      })
      return done(Effect.catchTag(said, ["BadHost", "OtherIssuer"], Effect.die))
    },
    registerForOwner: (number, metadata) => {
      const { services } = server
      const made = Effect.gen(function* () {
        const read = yield* Effect.fromResult(checkRegistration(services, metadata))
        const { client, registrationToken, secret } = yield* registerClient(services, byOwner(number), read)
        const shown = secret === undefined ? {} : { client_secret: Redacted.value(secret) }
        const body = {
          ...clientInformation(services, client),
          ...shown,
          registration_access_token: Redacted.value(registrationToken),
          registration_client_uri: `${workspaceAt(number).issuer}/oauth/register/${client.id}`
        }
        return { status: 201, headers: [["cache-control", "no-store"]], body: JSON.stringify(body) } as const
      })
      return Effect.provideContext(Effect.orDie(made), surroundings)
    },
    trust: (number, name, terms) => {
      const { openings } = server.services
      const issuer = issuerText(name)
      const said = Effect.gen(function* () {
        const opened = yield* openings.open(workspaceAt(number))
        const workspace = yield* openings.current(opened, Instant.make(clock.now()))
        if (terms === null) return yield* removeIssuer(server.services, byOwner(number), workspace, issuer)
        const { key, people, scopes, takes } = terms
        const jwks = { keys: [issuerKey(name, key)] }
        const typed = { issuer, jwks, people, takes, ...(scopes === null ? {} : { scopes: scopes.split(" ") }) }
        const changed = yield* changeIssuer(server.services, byOwner(number), workspace, typed)
        return changed ?? (yield* trustIssuer(server.services, byOwner(number), workspace, typed))
      })
      return done(Effect.catchTag(said, ["BadIssuer", "OtherIssuer"], Effect.die))
    },
    answerClient: (number, client, says) => {
      const { services } = server
      const identifier = readClientIdentifier(client)
      if (Option.isNone(identifier)) return Effect.succeed(told("unknown"))
      const looked = Effect.map(findByIdentifier(services, workspaceAt(number), identifier.value), (found) => {
        if (found === undefined || !isKnown(found, Instant.make(clock.now()))) return "unknown"
        const asks = asksForWorkspace(found, services.grantTypes.values())
        return asks ? workspaceStanding(found, services.policy) : "not_asked"
      })
      const outcome =
        says === "nothing"
          ? looked
          : answerByIdentifier(services, byOwner(number), workspaceAt(number), identifier.value, says)
      return untilDeath(orUnavailable(Effect.map(outcome, told)))
    },
    allowExchange: (number, client, api) => {
      const id = ClientId.make(client)
      const allowed = setServedResource(server.services, byOwner(number), workspaceAt(number), id, api)
      return done(allowed)
    },
    endSession: (number, user) => {
      const workspace = workspaceAt(number)
      const sessions = signsOut(known, workspace.id, user)
      return done(server.services.logouts.end(workspace, { user: UserId.make(user), sessions, why: "by_user" }))
    },
    belong: (number, user, places) =>
      Effect.sync(() => {
        known.belonging.set(personIn(workspaceAt(number).id, user), places)
      }),
    endAll: (number, user, { client, place }) => {
      const which = {
        user: UserId.make(user),
        place: place === undefined ? undefined : PlaceId.make(place),
        client: client === undefined ? undefined : ClientId.make(client)
      }
      const ended = endAll(server.services, byOwner(number), which, undefined)
      return done(ended)
    },
    pass: (millis) => Effect.sync(() => clock.pass(millis)),
    addKey: turnRing((before) => [keyNumber(++made), ...before]),
    dropOldestKey: turnRing(([first, ...rest]) => [first, ...rest.slice(0, -1)]),
    sweep: Effect.gen(function* () {
      while ((yield* troubled.storage.sweep(clock.now(), sweptAtOnce)) === sweptAtOnce) {}
    }).pipe(Effect.orDie),
    trouble: (fault) => Effect.sync(() => troubled.trouble(fault)),
    calm: Effect.sync(troubled.calm),
    shuffle: (seed) => Effect.sync(() => troubled.shuffle(seed))
  }
  const keys = () => Array.from({ length: made }, (_, index) => keyBytes(index + 1))
  return { system, audit, log, keys } satisfies InProcess
})
