import type { Effect, Schema } from "effect"
import type { GrantType } from "../client/Client.ts"
import type { Clients } from "../engine/Clients.ts"
import type { Grants } from "../engine/Grants.ts"
import type { Records } from "../engine/Records.ts"
import type { Usage } from "../engine/Usage.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Limiter } from "../ports/Limiter.ts"
import type { Pages } from "../ports/Pages.ts"
import type { RegistrationPolicy } from "../ports/RegistrationPolicy.ts"
import type { ResourceOwner } from "../ports/ResourceOwner.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Refusal } from "../rules/Refusal.ts"
import type { Keys } from "../token/KeyRing.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { HttpRequest, HttpResponse } from "./Http.ts"

/** One request on its way to an endpoint. */
export interface Call {
  readonly request: HttpRequest
  readonly workspace: Workspace
  /** The request's path below the workspace's base, still percent-encoded. */
  readonly path: string
  /** The path in the table of routes. Logs and audit events name this one: what was sent may hold anything, tokens too. */
  readonly endpoint: string
  readonly now: Instant
  /** Given back in a header, and in every log line and audit event that the request leads to. */
  readonly requestId: string
}

export type Endpoint = (call: Call) => Effect.Effect<HttpResponse, Refusal | StorageUnavailable>

/** What endpoints are made of. */
export interface Parts {
  readonly policy: Policy
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly keys: Keys["Service"]
  readonly audit: Audit["Service"]
  readonly owner: ResourceOwner["Service"]
  readonly registration: RegistrationPolicy["Service"]
  readonly pages: Pages["Service"]
  readonly grantRecords: Records<Grant>
  readonly clients: Clients
  readonly grants: Grants
  readonly usage: Usage
  readonly limiter: Limiter["Service"]
}

export type Fault = Refusal | StorageUnavailable

/** A class of faults: its fields say which faults of its kind there can be. */
export interface FaultClass<F extends Fault = Fault> extends Schema.Decoder<F> {
  readonly fields: Schema.Struct.Fields
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
export type EndpointOf<C extends Contract> = (call: Call) => Effect.Effect<HttpResponse, FaultOf<C>>

/** How a refusal is told: as OAuth's JSON, as a protected resource's challenge, or as a page for a person. */
export type ErrorForm = "oauth" | "bearer" | "page"

type Method = "GET" | "POST" | "PUT" | "DELETE"

/** One line of the table of routes. */
export interface Route {
  readonly path: string
  /** `exact`: this path; `below`: one segment more; `suffix`: this path, or anything behind it. */
  readonly match: "exact" | "below" | "suffix"
  readonly methods: { readonly [method in Method]?: Endpoint }
  readonly errors: ErrorForm
  /** Any origin may call it from a browser, without credentials. */
  readonly cors: boolean
  /** What the methods take and answer, for the OpenAPI document; pages have none. */
  readonly contracts?: { readonly [method in Method]?: Contract }
  /** The member of the RFC 8414 metadata that names it. */
  readonly metadata?: string
  /** What can be had there, for the metadata. */
  readonly grantTypes?: ReadonlyArray<GrantType>
}

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

/** Whether a route is one to speak of: where registration is closed, its endpoint only says so. */
export const isOffered = ({ registration }: Pick<Parts, "registration">, { metadata }: Route): boolean =>
  metadata !== "registration_endpoint" || registration.offered
