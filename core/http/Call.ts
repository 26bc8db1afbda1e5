import type { Effect } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Refusal } from "../rules/Refusal.ts"
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
