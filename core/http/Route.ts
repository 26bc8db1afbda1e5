import type { GrantType } from "../client/Client.ts"
import type { Contract } from "../openapi/contract/Contract.ts"
import type { Endpoint } from "./Call.ts"

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
