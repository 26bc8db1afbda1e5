import { type Effect, Schema } from "effect"
import type { ClientMember } from "../client/ClientMember.ts"
import type { BroughtClients } from "../engine/BroughtClients.ts"
import type { ClientRoom } from "../engine/ClientRoom.ts"
import type { Clients } from "../engine/Clients.ts"
import type { Grants } from "../engine/Grants.ts"
import type { IdTokens } from "../engine/IdTokens.ts"
import type { Logouts } from "../engine/Logouts.ts"
import type { OlderSecrets } from "../engine/OlderSecrets.ts"
import type { Once } from "../engine/Once.ts"
import type { Openings } from "../engine/Openings.ts"
import type { Records } from "../engine/Records.ts"
import type { Signing } from "../engine/Signing.ts"
import type { Usage } from "../engine/Usage.ts"
import type { Grant } from "../grant/Grant.ts"
import type { ClientAuth } from "../oauth/clients/ClientAuth.ts"
import type { GrantType } from "../oauth/grants/GrantType.ts"
import type { Nonces, Presentation } from "../oauth/presented/Presentation.ts"
import type { Audit } from "../ports/Audit.ts"
import type { ClientKeys } from "../ports/ClientKeys.ts"
import type { Documents } from "../ports/Documents.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Limiter } from "../ports/Limiter.ts"
import type { Pages } from "../ports/Pages.ts"
import type { RegistrationPolicy } from "../ports/RegistrationPolicy.ts"
import type { ResourceOwner } from "../ports/ResourceOwner.ts"
import type { Signatures } from "../ports/Signatures.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { AuthorizationRequest } from "../request/AuthorizationRequest.ts"
import type { ClaimScope } from "../rules/Claims.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Refusal } from "../rules/Refusal.ts"
import type { Keys } from "../token/KeyRing.ts"
import type { OpenWorkspace, Workspace } from "../workspace/Workspace.ts"
import type { Fault, FaultClass } from "./Fault.ts"
import type { HttpRequest, HttpResponse } from "./Http.ts"

/** One request on its way to an endpoint. */
export interface Call {
  readonly request: HttpRequest
  readonly workspace: OpenWorkspace
  /** The request's path below the workspace's base, still percent-encoded. */
  readonly path: string
  /** The path in the table of routes. Logs and audit events name this one: what was sent may hold anything, tokens too. */
  readonly endpoint: string
  readonly now: Instant
  /** Given back in a header, and in every log line and audit event that the request leads to. */
  readonly requestId: string
}

export type Handler = (call: Call) => Effect.Effect<HttpResponse, Refusal | StorageUnavailable>

/** What endpoints are made of. */
export interface Services {
  /** The rows at work, in the order in which a path is looked for. */
  readonly endpoints: ReadonlyArray<Endpoint>
  /** The grant types at work, by their names. */
  readonly grantTypes: ReadonlyMap<string, GrantType>
  readonly policy: Policy
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly keys: Keys["Service"]
  readonly audit: Audit["Service"]
  readonly owner: ResourceOwner["Service"]
  readonly registration: RegistrationPolicy["Service"]
  readonly pages: Pages["Service"]
  readonly openings: Openings
  readonly grantRecords: Records<Grant>
  readonly requests: Records<AuthorizationRequest>
  readonly clients: Clients
  readonly clientRoom: ClientRoom
  /** Those that have no record until a person lets them in. */
  readonly brought: BroughtClients
  readonly grants: Grants
  readonly usage: Usage
  readonly limiter: Limiter["Service"]
  /** How clients authenticate, by name. */
  readonly clientAuths: ReadonlyMap<string, ClientAuth>
  /** Asked of each client that has two secrets, once it has authenticated. */
  readonly olderSecrets: OlderSecrets
  /** What clients register beyond what every client has. */
  readonly clientMembers: ReadonlyArray<ClientMember>
  /** How tokens and keys are shown, in order. */
  readonly presentations: ReadonlyArray<Presentation>
  /** What scopes let applications learn of a person. */
  readonly claimScopes: ReadonlyArray<ClaimScope>
  readonly idTokens: IdTokens
  readonly nonces: Nonces
  readonly signatures: Signatures["Service"]
  readonly signing: Signing
  readonly clientKeys: ClientKeys["Service"]
  readonly documents: Documents["Service"]
  readonly once: Once
  readonly logouts: Logouts
}

/** One way to call an endpoint: what is shown, and for a token, what it has to reach. */
export type Caller =
  | { readonly shows: "nothing" | "clientSecret" | "apiKey" | "registrationToken" | "initialToken" }
  | { readonly shows: "token"; readonly scopes: ReadonlyArray<string> }

/** Made with the functions that the endpoint answers with, so that status and headers are those of the real answer. */
export type Sample = (from: { readonly pages: Pages["Service"]; readonly workspace: Workspace }) => HttpResponse

interface Answer {
  readonly description: string
  readonly like: Sample
  /** The schema of its JSON. */
  readonly body?: Schema.Top
  /** Only given where something follows the route's path. */
  readonly below?: true
}

/**
 * What an endpoint takes and what it may answer. The endpoint decodes what it takes by these Schemas, and is typed to
 * come to no fault that is not in here. The OpenAPI document is written from the same value.
 */
export interface Contract {
  /** What generated clients call it. */
  readonly id: string
  readonly heading: string
  readonly summary: string
  readonly description?: string
  /** The one segment, or the first of several, that follows the route's path. */
  readonly below?: { readonly name: string; readonly schema: Schema.Top; readonly description: string }
  readonly query?: Schema.Top
  readonly form?: Schema.Top
  readonly json?: Schema.Top
  readonly callers: ReadonlyArray<Caller>
  readonly answers: ReadonlyArray<Answer>
  readonly faults: ReadonlyArray<FaultClass>
  /** Faults of these classes that this endpoint alone cannot come to. */
  readonly spares?: (fault: Fault) => boolean
}

export type FaultOf<C extends Contract> = C["faults"][number]["Type"]

/** An endpoint that keeps a contract. */
export type HandlerOf<C extends Contract> = (call: Call) => Effect.Effect<HttpResponse, FaultOf<C>>

/** How a refusal is told: as OAuth's JSON, as a protected resource's challenge, or as a page for a person. */
export type ErrorForm = "oauth" | "bearer" | "page"

type Method = "GET" | "POST" | "PUT" | "DELETE"

/** One method of an endpoint. What it takes and answers may depend on the rows at work; a page has no contract. */
export interface Operation {
  readonly contract?: (services: Services) => Contract
  readonly handler: (services: Services) => Handler
}

/** A handler that is typed by the contract that it keeps. */
export const bound = <C extends Contract>(
  contract: C | ((services: Services) => C),
  handler: (services: Services) => (call: Call) => Effect.Effect<HttpResponse, C["faults"][number]["Type"]>
): Operation => ({ contract: typeof contract === "function" ? once(contract) : () => contract, handler })

/** A server's contract is one value, whose schemas the documents of all workspaces share. */
const once = <C>(make: (services: Services) => C): ((services: Services) => C) => {
  const made = new WeakMap<Services, { readonly contract: C }>()
  return (services) => {
    const known = made.get(services)
    if (known !== undefined) return known.contract
    const contract = make(services)
    made.set(services, { contract })
    return contract
  }
}

/** A handler that answers people, of which the OpenAPI document says nothing. */
export const page = (handler: (services: Services) => Handler): Operation => ({ handler })

/** A member of the RFC 8414 metadata: what it may be, and what it is in this server. */
export interface MetadataMember {
  readonly schema: Schema.Top
  readonly value: (services: Services, workspace: Workspace) => unknown
}

/** A member of the metadata that is a list of names. */
export const names = (value: (services: Services) => ReadonlyArray<string>): MetadataMember => ({
  schema: Schema.Array(Schema.String),
  value
})

/** What the RFC 8414 metadata says because an endpoint is there. */
export interface EndpointMetadata {
  /** The member that has the endpoint's address. */
  readonly name?: string
  readonly members?: MetadataMembers | ((services: Services) => MetadataMembers)
}

export type MetadataMembers = Readonly<Record<string, MetadataMember>>

/** Where a request goes on to: a workspace, and a path below it. */
export interface Destination {
  readonly workspace: OpenWorkspace
  readonly path: string
}

/** A row of the table of endpoints: contract, handler and route of one path. */
export interface Endpoint {
  readonly path: string
  /** `exact`: this path; `below`: one segment more; `suffix`: this path, or anything behind it. */
  readonly match: "exact" | "below" | "suffix"
  readonly methods: { readonly [method in Method]?: Operation }
  readonly errors: ErrorForm
  /** Any origin may call it from a browser, without credentials. */
  readonly cors: boolean
  /** Answers without the store, so that its workspace need not have been opened. */
  readonly storeless?: boolean
  readonly metadata?: EndpointMetadata
  /** Below this path are other endpoints: the workspace and the path by which they know a request, if one answers it. */
  readonly leadsTo?: (workspace: OpenWorkspace, path: string) => Destination | undefined
  /** Whether this server has the endpoint at all; without it, always. */
  readonly present?: (services: Omit<Services, "endpoints">) => boolean
  /** Whether the documents speak of it; without it, always. A closed registration only says that it is closed. */
  readonly offered?: (services: Services) => boolean
}

/** An endpoint of a page: the path as it stands, refusals as pages, this origin only. */
export const pageEndpoint = (path: string, methods: Endpoint["methods"]): Endpoint => ({
  path,
  match: "exact",
  methods,
  errors: "page",
  cors: false
})

/** An endpoint at work: its handlers made, once, from the services of the server. */
export interface Route extends Pick<Endpoint, "path" | "match" | "errors" | "cors" | "storeless" | "leadsTo"> {
  readonly methods: { readonly [method in Method]?: Handler }
  /** What a token needs to be let in; none where it shows none. */
  readonly scopes: ReadonlyArray<string>
}

/** A row's name: no two rows of a server may have one. */
export const endpointName = ({ match, path }: Pick<Endpoint, "match" | "path">): string =>
  match === "below" ? `${path}/*` : path

export const makeRoute = (
  { cors, errors, leadsTo, match, methods, path, storeless = false }: Endpoint,
  services: Services
): Route => {
  let scopes: ReadonlyArray<string> | undefined
  return {
    path,
    match,
    errors,
    cors,
    storeless,
    ...(leadsTo === undefined ? {} : { leadsTo }),
    methods: Object.fromEntries(Object.entries(methods).map(([method, { handler }]) => [method, handler(services)])),
    // Contracts hold schemas, which would be most of what a start makes: they wait for the first refusal.
    get scopes() {
      scopes ??= scopesNeeded({
        callers: Object.values(methods).flatMap(({ contract }) => contract?.(services).callers ?? [])
      })
      return scopes
    }
  }
}

/** RFC 6750 §3: what a token needs to be let in. */
export const scopesNeeded = ({ callers }: Pick<Contract, "callers">): ReadonlyArray<string> => [
  ...new Set(callers.flatMap((caller) => (caller.shows === "token" ? caller.scopes : [])))
]

type FindRoute = (path: string) => Route | undefined

/** Finds the route of a path, the first of two: the exact ones by one look-up, the few others in the table's order. */
export const routeTable = (routes: ReadonlyArray<Route>): FindRoute => {
  const exact = new Map<string, Route>()
  for (const route of routes) {
    if (route.match !== "below" && !exact.has(route.path)) exact.set(route.path, route)
  }
  const others = routes.filter((route) => route.match !== "exact")
  return (path) =>
    exact.get(path) ??
    others.find((route) => {
      if (!path.startsWith(`${route.path}/`)) return false
      const rest = path.slice(route.path.length + 1)
      return route.match === "suffix" || (rest !== "" && !rest.includes("/"))
    })
}

/** The route of where a request was led to. Only pages are: all else has one address. */
export const pageAt = (find: FindRoute, { path }: Destination): Route | undefined => {
  const route = find(path)
  return route?.errors === "page" && route.leadsTo === undefined ? route : undefined
}

/** The endpoints that this server's documents speak of. */
export const offeredEndpoints = (services: Services): ReadonlyArray<Endpoint> =>
  services.endpoints.filter(({ offered }) => offered?.(services) !== false)
