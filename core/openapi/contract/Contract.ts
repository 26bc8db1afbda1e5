import type { Effect, Schema } from "effect"
import type { Call } from "../../http/Call.ts"
import type { HttpResponse } from "../../http/Http.ts"
import type { Pages } from "../../ports/Pages.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { Refusal } from "../../rules/Refusal.ts"
import type { Workspace } from "../../workspace/Workspace.ts"

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

export interface Answer {
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
