import { Cause, Clock, Context, Effect, Exit, Layer, Option, Result } from "effect"
import type { ClientMember } from "./client/ClientMember.ts"
import { clientMembers } from "./client/members.ts"
import { bindsAll, leastProfile } from "./client/Profile.ts"
import { hexOf } from "./codec/Base64Url.ts"
import { makeBroughtClients } from "./engine/BroughtClients.ts"
import { makeClientRoom } from "./engine/ClientRoom.ts"
import { makeClients } from "./engine/Clients.ts"
import { CacheSize, cacheSizes, RecordCache } from "./engine/caches.ts"
import { makeGrants } from "./engine/Grants.ts"
import { makeIdTokens } from "./engine/IdTokens.ts"
import { makeJwtTokens } from "./engine/JwtTokens.ts"
import { makeLogouts } from "./engine/Logouts.ts"
import { makeOlderSecrets } from "./engine/OlderSecrets.ts"
import { makeOnce } from "./engine/Once.ts"
import { type MayMove, makeOpenings, neverMoves, type OtherIssuer, withheld } from "./engine/Openings.ts"
import { grantKind, makeRecords } from "./engine/Records.ts"
import { makeSigning } from "./engine/Signing.ts"
import { makeUsage, usageKind } from "./engine/Usage.ts"
import { isDrawn } from "./grant/Grant.ts"
import {
  allowedMethods,
  finish,
  preflight,
  secretJson,
  shuttingDown,
  wholeAnswer,
  withRequestId
} from "./http/answer.ts"
import type { Fault } from "./http/Fault.ts"
import { answerFault, broken, faultPage, oauthError, resourceAt, resourceError } from "./http/faults.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "./http/Http.ts"
import { makeRefusals, type Refusals } from "./http/Refusals.ts"
import {
  type Call,
  type Endpoint,
  endpointName,
  type Handler,
  makeRoute,
  pageAt,
  type Route,
  routeTable,
  type Services
} from "./http/Route.ts"
import type { ClientAuth } from "./oauth/clients/ClientAuth.ts"
import { clientAuths } from "./oauth/clients/table.ts"
import { endpoints } from "./oauth/endpoints/table.ts"
import type { GrantType } from "./oauth/grants/GrantType.ts"
import { grantTypes } from "./oauth/grants/table.ts"
import {
  authenticationFault,
  type CallerKind,
  faultOfNeeds,
  guard,
  type Needs,
  type PrincipalOf,
  rowsFor
} from "./oauth/presented/guard.ts"
import { makeNonces } from "./oauth/presented/nonce.ts"
import { boundRows, type Presentation, tokenTypeOf } from "./oauth/presented/Presentation.ts"
import { presentations } from "./oauth/presented/table.ts"
import { rowsByName } from "./oauth/rowsByName.ts"
import { Audit } from "./ports/Audit.ts"
import { ClientKeys } from "./ports/ClientKeys.ts"
import { Documents } from "./ports/Documents.ts"
import { Entropy } from "./ports/Entropy.ts"
import { Limiter } from "./ports/Limiter.ts"
import { Pages } from "./ports/Pages.ts"
import { RegistrationPolicy } from "./ports/RegistrationPolicy.ts"
import { ResourceOwner } from "./ports/ResourceOwner.ts"
import { Signatures } from "./ports/Signatures.ts"
import { Storage, type StorageUnavailable } from "./ports/Storage.ts"
import { Workspaces } from "./ports/Workspaces.ts"
import { requestKind } from "./request/AuthorizationRequest.ts"
import { makeDevicePoll } from "./request/device.ts"
import { type ClaimScope, claimScopes } from "./rules/Claims.ts"
import { type Instant, instantOf } from "./rules/Instant.ts"
import type { Policy } from "./rules/Policy.ts"
import { type Contended, type InsufficientAuthentication, NoSuchRoute, WorkspaceDisabled } from "./rules/Refusal.ts"
import { offersOpenId, withoutOpenId } from "./rules/Scope.ts"
import { Keys } from "./token/KeyRing.ts"
import { type OpenWorkspace, pathBelow, type Workspace } from "./workspace/Workspace.ts"

const length = 8
/** Every request takes one, and many cost less than as many times one. They are no secret that may not wait here. */
const atOnce = 64

/** 64 random bits in hex for each request. */
const requestIds = (entropy: Entropy["Service"]): (() => string) => {
  const ids: Array<string> = []
  return () => {
    if (ids.length === 0) {
      const bytes = entropy.bytes(atOnce * length)
      for (let at = bytes.length - length; at >= 0; at -= length) ids.push(hexOf(bytes, at, at + length))
    }
    return ids.pop() ?? ""
  }
}

export interface TesseraOptions {
  readonly policy: Policy
  /** Every path that is answered. Without it, the protocol's own; a host adds to that list, or takes from it. */
  readonly endpoints?: ReadonlyArray<Endpoint>
  /** How clients authenticate: the whole list. Without it, that of `core/oauth/clients/table.ts`. */
  readonly clientAuths?: ReadonlyArray<ClientAuth>
  /** How tokens and keys are shown: the whole list, in order. Without it, that of `core/oauth/presented/table.ts`. */
  readonly presentations?: ReadonlyArray<Presentation>
  /** What clients register beyond what every client has: the whole list. Without it, that of `core/client/members.ts`. */
  readonly clientMembers?: ReadonlyArray<ClientMember>
  /**
   * What scopes let applications learn of a person. Without it, the table of OpenID Connect: `[...claimScopes, mine]`. Rows
   * of one scope add up.
   */
  readonly claimScopes?: ReadonlyArray<ClaimScope>
  /** Every grant type of the token endpoint. Without it, the protocol's own: `[...grantTypes, mine]` adds one. */
  readonly grants?: ReadonlyArray<GrantType>
  /**
   * Whether a workspace that the store has under another issuer has moved, and may be opened under its own. Without it,
   * it is refused. What the former issuer sealed opens nothing from then on.
   */
  readonly mayMove?: MayMove
}

/** A guarded call: who it is, or the answer that sends them for a token. */
export type Guarded<Kind extends CallerKind = CallerKind> =
  | {
      readonly _tag: "Admitted"
      readonly principal: PrincipalOf<Kind>
      readonly workspace: Workspace
      /** RFC 9449 §8.2: what the host's own answer has to carry. Left out where there is nothing to tell. */
      readonly headers?: HeaderPairs
    }
  | { readonly _tag: "Refused"; readonly response: HttpResponse }

/** The authorization server: requests in, answers out, and nothing fails or throws. */
export class Tessera extends Context.Service<
  Tessera,
  {
    readonly handle: (request: HttpRequest) => Effect.Effect<HttpResponse>
    /** As `handle`, for runtimes: begins at once, so that an answer which waits for nothing is there without a fiber. */
    readonly begin: (request: HttpRequest) => Effect.Effect<HttpResponse>
    /** For the host's own resources: RFC 6750's check of the caller. Needs that cannot be are a defect. */
    readonly guard: <const Kind extends CallerKind = CallerKind>(
      request: HttpRequest,
      needs: Needs<Kind>
    ) => Effect.Effect<Guarded<Kind>>
    /**
     * Opens a workspace now, not with its first request: the store remembers its issuer, and has it under no other.
     * Where it has another, every request that needs the store is answered with 503.
     */
    readonly open: (workspace: Workspace) => Effect.Effect<OpenWorkspace, OtherIssuer | StorageUnavailable | Contended>
    readonly routes: ReadonlyArray<Route>
    readonly services: Services
  }
>()("tessera/core/Tessera") {
  static readonly layer = (options: TesseraOptions) => Layer.effect(Tessera, makeTessera(options))
}

export const makeTessera = Effect.fnUntraced(function* (options: TesseraOptions) {
  const storage = yield* Storage
  const entropy = yield* Entropy
  const keys = yield* Keys
  const audit = yield* Audit
  const owner = yield* ResourceOwner
  const registration = yield* RegistrationPolicy
  const pages = yield* Pages
  const limiter = yield* Limiter
  const workspaces = yield* Workspaces
  // A host whose rows sign and fetch nothing has no adapter, and is not asked for one.
  const signatures = Option.getOrElse(yield* Effect.serviceOption(Signatures), () => Signatures.none)
  const clientKeys = Option.getOrElse(yield* Effect.serviceOption(ClientKeys), () => ClientKeys.none)
  const documents = Option.getOrElse(yield* Effect.serviceOption(Documents), () => Documents.none)
  const policy = policyFor(options.policy, signatures)
  const rows = composeRows(options, signatures)
  const usage = makeUsage(makeRecords(storage, usageKind), entropy)
  const clock = yield* Clock.Clock
  const clients = makeClients(storage, entropy, policy, clock)
  const mostKept = cacheSizes[yield* CacheSize]
  const staleness = policy.clientStaleness
  const signing = makeSigning({ storage, entropy, keys, signatures, staleness })
  const grantRecords = makeRecords(storage, grantKind(policy), new RecordCache(mostKept, isDrawn))
  const idTokens = makeIdTokens({ owner, policy, signatures, signing })
  const once = makeOnce(storage)
  const openings = makeOpenings(
    { audit, entropy, storage, staleness: policy.clientStaleness },
    options.mayMove ?? neverMoves
  )
  const requests = makeRecords(storage, requestKind)
  const grants = makeGrants({
    records: grantRecords,
    once,
    clients,
    keys,
    jwts: makeJwtTokens({ keys, signatures, signing }),
    idTokens: signatures === Signatures.none ? undefined : idTokens,
    signatures,
    clientKeys,
    owner,
    entropy,
    policy,
    usage,
    limiter,
    devices: makeDevicePoll({ keys, limiter, requests }),
    clock,
    current: openings.current,
    tokensKept: mostKept
  })
  const served = Result.getOrThrow(rowsByName("grants", rows.grants, ({ name }) => name))
  const given = options.endpoints ?? endpoints
  Result.getOrThrow(rowsByName("endpoints", given, endpointName))
  const described: Omit<Services, "endpoints"> = {
    grantTypes: served,
    policy,
    storage,
    entropy,
    keys,
    audit,
    owner,
    registration,
    pages,
    openings,
    grantRecords,
    requests,
    clients,
    clientRoom: makeClientRoom(storage, clients, grants, entropy, policy, clock),
    brought: makeBroughtClients({
      tables: { ...rows, grantTypes: served },
      policy,
      documents,
      registration,
      clients,
      openings,
      keys,
      entropy,
      audit,
      clock
    }),
    grants,
    usage,
    limiter,
    clientAuths: rows.clientAuths,
    olderSecrets: makeOlderSecrets(audit),
    clientMembers: rows.clientMembers,
    presentations: rows.presentations,
    claimScopes: options.claimScopes ?? claimScopes,
    idTokens,
    nonces: makeNonces(keys, policy),
    signatures,
    signing,
    clientKeys,
    documents,
    once,
    logouts: makeLogouts({ storage, entropy, clients, grants, signing, signatures, documents, audit, policy, clock })
  }
  const services: Services = {
    ...described,
    endpoints: given.filter(({ present }) => present?.(described) !== false)
  }

  const noteRefusal = yield* makeRefusals(audit)
  const routes = services.endpoints.map((endpoint) => makeRoute(endpoint, services))
  const find = routeTable(routes)

  const newRequestId = requestIds(entropy)
  const opened = (workspace: Workspace) =>
    Effect.catchTag(openings.open(workspace), "OtherIssuer", (other) => Effect.fail(withheld(other)))
  /** What waits for the store; nothing where the workspace is known, and was this server's a moment ago. */
  const opening = (resolved: Workspace, known: OpenWorkspace | undefined, now: Instant) => {
    if (known === undefined) return opened(resolved)
    return openings.isDue(known, now) ? openings.asKnown(known, now) : undefined
  }

  const answer = (requestId: string, request: HttpRequest): Effect.Effect<HttpResponse> => {
    if (namesTwoHosts(request)) return Effect.succeed(finish(requestId, request, undefined, twoHosts))
    const resolved = workspaces.resolve(request)
    if (resolved !== undefined) return answerAt(resolved, requestId, request)
    if (workspaces.find === undefined) return Effect.succeed(finish(requestId, request, undefined, noWorkspace))
    const answered = Effect.flatMapEager(Effect.exit(workspaces.find(request)), (exit) => {
      if (Exit.isFailure(exit)) {
        return Effect.map(unfound(requestId, exit.cause), (response) => finish(requestId, request, undefined, response))
      }
      return exit.value === undefined
        ? Effect.succeed(finish(requestId, request, undefined, noWorkspace))
        : answerAt(exit.value, requestId, request)
    })
    return Effect.catchDefect(answered, (defect) => answerThrown(requestId, request, defect))
  }

  const answerAt = (resolved: Workspace, requestId: string, request: HttpRequest): Effect.Effect<HttpResponse> => {
    const known = openings.known(resolved)
    const whole = known ?? resolved
    const below = pathBelow(whole, request.path)
    const first = below === undefined ? undefined : find(below)
    const led = below === undefined ? undefined : first?.leadsTo?.(whole, below)
    const route = first?.leadsTo === undefined ? first : led && pageAt(find, led)
    const call: Call = {
      request,
      workspace: led?.workspace ?? whole,
      path: led?.path ?? below ?? request.path,
      endpoint: route?.path ?? "none",
      now: instantOf(clock),
      requestId
    }
    if (route === undefined) return Effect.succeed(finish(requestId, request, undefined, notFound(services, call)))
    if (request.method === "OPTIONS" && route.cors) {
      const allowed = preflight(route, request.headers.get("access-control-request-headers"))
      return Effect.succeed(finish(requestId, request, undefined, allowed))
    }
    const endpoint = endpointOf(route, request.method)
    if (endpoint === undefined) {
      return Effect.succeed(finish(requestId, request, route, wrongMethod(services, call, route)))
    }
    if (whole.disabled === true) {
      const response = answerFault(services, call, route, disabled)
      return Effect.succeed(finish(requestId, request, route, response))
    }
    const waits = route.storeless === true ? undefined : opening(resolved, known, call.now)
    const attempted =
      waits === undefined
        ? attempt(endpoint, call)
        : Effect.flatMap(waits, (workspace) =>
            attempt(endpoint, { ...call, workspace: { ...call.workspace, ...workspace } })
          )
    return Effect.flatMapEager(Effect.exit(attempted), (exit) =>
      Exit.isSuccess(exit)
        ? finished(requestId, request, route, exit.value)
        : Effect.catchDefect(
            Effect.map(answerFailure(services, noteRefusal, call, route, exit.cause), (response) =>
              finish(requestId, request, route, response)
            ),
            (defect) => answerThrown(requestId, request, defect)
          )
    )
  }

  /** A host's own functions stand around the endpoints too: who tells workspaces apart, draws pages, or random bytes. */
  const begin = (request: HttpRequest): Effect.Effect<HttpResponse> => {
    let requestId = ""
    try {
      requestId = newRequestId()
      return answer(requestId, request)
    } catch (defect) {
      return answerThrown(requestId, request, defect)
    }
  }

  const handle = (request: HttpRequest) =>
    Effect.mapEager(
      Effect.suspend(() => begin(request)),
      wholeAnswer
    )

  const foundFor = (request: HttpRequest): Effect.Effect<Workspace | undefined, StorageUnavailable> => {
    const resolved = workspaces.resolve(request)
    return resolved === undefined && workspaces.find !== undefined ? workspaces.find(request) : Effect.succeed(resolved)
  }

  const guardRequest = Effect.fnUntraced(function* <Kind extends CallerKind>(
    requestId: string,
    request: HttpRequest,
    needs: Needs<Kind>
  ): Effect.fn.Return<Guarded<Kind>> {
    if (namesTwoHosts(request)) return { _tag: "Refused", response: withRequestId(requestId, twoHosts) }
    const found = yield* Effect.exit(foundFor(request))
    if (Exit.isFailure(found)) {
      return { _tag: "Refused", response: withRequestId(requestId, yield* unfound(requestId, found.cause)) }
    }
    const workspace = found.value
    if (workspace === undefined) return { _tag: "Refused", response: noWorkspace }
    if (workspace.disabled === true) {
      const response = resourceError(rowsFor(services.presentations, needs), workspace, disabled, {
        resource: needs.resource ?? resourceAt(workspace, request.path),
        scopes: needs.scopes
      })
      return { _tag: "Refused", response: withRequestId(requestId, response) }
    }
    const now = instantOf(clock)
    const check = (opened: OpenWorkspace) =>
      guard(
        services,
        opened,
        request,
        needs,
        now,
        (principal, headers): Effect.Effect<Guarded<Kind>, InsufficientAuthentication> => {
          const wanting = authenticationFault(needs, principal, now)
          if (wanting !== undefined) return Effect.fail(wanting)
          const admitted = { _tag: "Admitted", principal, workspace } as const
          return Effect.succeed(headers === undefined ? admitted : { ...admitted, headers })
        }
      )
    const known = openings.known(workspace)
    const waits = opening(workspace, known, now)
    const guarded = yield* Effect.result(waits === undefined ? check(known ?? workspace) : Effect.flatMap(waits, check))
    if (guarded._tag === "Success") return guarded.success
    const call: Call = { request, workspace, path: request.path, endpoint: "guard", now, requestId }
    yield* noteRefusal(call, guarded.failure)
    const response = resourceError(rowsFor(services.presentations, needs), workspace, guarded.failure, {
      resource: needs.resource ?? resourceAt(workspace, request.path),
      scopes: needs.scopes
    })
    return { _tag: "Refused", response: withRequestId(requestId, response) }
  })

  const guardCall = <const Kind extends CallerKind = CallerKind>(
    request: HttpRequest,
    needs: Needs<Kind>
  ): Effect.Effect<Guarded<Kind>> =>
    Effect.suspend(() => {
      const wrong = faultOfNeeds(needs)
      if (wrong !== undefined) return Effect.die(new TypeError(`guard: ${wrong.option} ${wrong.why}`))
      let requestId = ""
      const guarded = Effect.suspend(() => {
        requestId = newRequestId()
        return guardRequest(requestId, request, needs)
      })
      return Effect.catchDefect(guarded, (defect) =>
        Effect.map(answerThrown(requestId, request, defect), (answer) => ({
          _tag: "Refused",
          response: wholeAnswer(answer)
        }))
      )
    })

  return { handle, begin, guard: guardCall, open: openings.open, routes, services }
})

/** A server that signs nothing has no ID tokens to give. */
const policyFor = (policy: Policy, signatures: Signatures["Service"]): Policy =>
  signatures === Signatures.none && offersOpenId(policy.scopes)
    ? { ...policy, scopes: withoutOpenId(policy.scopes) }
    : policy

/** The tables that the server is composed of. Throws where one cannot be: rows that share a name, or none for its tokens. */
const composeRows = (
  options: Pick<TesseraOptions, "clientAuths" | "clientMembers" | "grants" | "policy" | "presentations">,
  signatures: Signatures["Service"]
) => {
  const isUsable = ({ signs }: { readonly signs?: true }) => signs !== true || signatures !== Signatures.none
  const { methods } = leastProfile(options.policy)
  // A method that counts for no client of this server is none of its own: nothing may tell of it.
  const counts = (row: ClientAuth) => isUsable(row) && (methods === null || methods.includes(row.name))
  const auths = rowsByName("clientAuths", (options.clientAuths ?? clientAuths).filter(counts), ({ name }) => name)
  const given = (options.presentations ?? presentations).filter(isUsable)
  const shown = rowsByName("presentations", given, ({ name }) => name)
  const registered = (options.clientMembers ?? clientMembers).filter(isUsable)
  const members = rowsByName("clientMembers", registered, ({ name }) => name)
  return {
    grants: (options.grants ?? grantTypes).filter((row) => isUsable(row) && row.offered?.(options.policy) !== false),
    clientAuths: Result.getOrThrow(auths),
    clientMembers: [...Result.getOrThrow(members).values()],
    presentations: issuable([...Result.getOrThrow(shown).values()], options.policy)
  }
}

/** The rows that carry the tokens of this server, as there have to be: those that are bound, or also those that are not. */
const issuable = (rows: ReadonlyArray<Presentation>, policy: Policy): ReadonlyArray<Presentation> => {
  const carried = bindsAll(policy) ? boundRows(rows) : rows
  const isCarried = bindsAll(policy) ? carried.some(({ shows }) => shows === "token") : tokenTypeOf(rows, null)
  if (!isCarried) throw new TypeError("presentations: no row carries the tokens that this server issues")
  return carried
}

/** An endpoint may do its work at once, so what it throws is caught here and is a defect like any other. */
const attempt = (endpoint: Handler, call: Call): ReturnType<Handler> => {
  try {
    return endpoint(call)
  } catch (defect) {
    return Effect.die(defect)
  }
}

/** A host's own endpoint may answer with what is no answer, at once or later. */
const finished = (
  requestId: string,
  request: HttpRequest,
  route: Route,
  response: HttpResponse
): Effect.Effect<HttpResponse> => {
  try {
    return Effect.succeed(finish(requestId, request, route, response))
  } catch (defect) {
    return answerThrown(requestId, request, defect)
  }
}

const endpointOf = (route: Route, method: string): Handler | undefined => {
  switch (method) {
    case "GET":
    case "HEAD":
      return route.methods.GET
    case "POST":
    case "PUT":
    case "DELETE":
      return route.methods[method]
    default:
      return undefined
  }
}

/** RFC 9112 §3.2: what stands before the server may have gone by the other one. */
const namesTwoHosts = (request: HttpRequest): boolean => request.headers.get("host")?.includes(",") === true

const twoHosts = secretJson(400, { error: "invalid_request", error_description: "The request names two hosts." })

const disabled = new WorkspaceDisabled()

/** Which workspace this is for is unknown, so it is told in no workspace's form. */
const unfound = (requestId: string, cause: Cause.Cause<StorageUnavailable>): Effect.Effect<HttpResponse> => {
  const fault = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (fault !== undefined) {
    return Effect.as(
      Effect.logWarning("the workspace of a request could not be looked up", { requestId, message: fault.message }),
      oauthError(fault)
    )
  }
  if (Cause.hasInterrupts(cause)) return Effect.succeed(shuttingDown)
  return Effect.as(Effect.logError("a defect", { requestId }, cause), broken)
}

const noWorkspace = secretJson(404, { error: "not_found", error_description: "No workspace answers at this host." })

/** Whether a person is likely to be looking: only then is an unknown address answered with a page. */
const wantsPage = (request: HttpRequest): boolean => request.headers.get("accept")?.includes("text/html") === true

const notFound = (services: Services, call: Call): HttpResponse => {
  const fault = new NoSuchRoute({ reason: "path" })
  return wantsPage(call.request) ? faultPage(services.pages, call, fault) : oauthError(fault)
}

const wrongMethod = (services: Services, call: Call, route: Route): HttpResponse => {
  const fault = new NoSuchRoute({ reason: "method" })
  const response = route.errors === "page" ? faultPage(services.pages, call, fault) : oauthError(fault)
  return { ...response, headers: [...response.headers, ["allow", allowedMethods(route)]] }
}

/** A refusal is told by its row of the table. Anything else is a fault of ours: logged whole, told as nothing. */
const answerFailure = Effect.fnUntraced(function* (
  services: Services,
  noteRefusal: Refusals,
  call: Call,
  route: Route,
  cause: Cause.Cause<Fault>
) {
  const fault = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (fault !== undefined) {
    yield* noteRefusal(call, fault)
    return answerFault(services, call, route, fault)
  }
  if (Cause.hasInterrupts(cause)) return shuttingDown
  yield* Effect.logError("a defect", { requestId: call.requestId, endpoint: call.endpoint }, cause)
  return broken
})

/** What was thrown where the route is not known yet, or no more. */
const answerThrown = (requestId: string, request: HttpRequest, defect: unknown): Effect.Effect<HttpResponse> =>
  Effect.as(
    Effect.logError("a defect", { requestId }, Cause.die(defect)),
    finish(requestId, request, undefined, broken)
  )
