import { isWinding, nodeHeaders, readTarget } from "../serve/request.ts"
import type { GuardedCall } from "./Check.ts"

/** What Node's requests have, and those of the frameworks that stand on it. */
export interface NodeCall {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** What the address was before a router took a prefix off it. */
  readonly originalUrl?: string | undefined
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  readonly headersDistinct?: { readonly [name: string]: ReadonlyArray<string> | undefined }
}

/** For a token that is bound to one place, a path that may be two is at neither. */
const pathOf = (target: string): string => (isWinding(target) ? "/" : (readTarget(target)?.path ?? "/"))

const headerOf = (request: NodeCall, name: string): string | undefined => {
  // Node's `headers` drops the second of two; the other platforms join them.
  const sent = request.headersDistinct?.[name] ?? request.headers[name]
  return typeof sent === "string" ? sent : sent?.join(", ")
}

export const guardedCall = (request: NodeCall): GuardedCall => ({
  method: request.method ?? "GET",
  path: pathOf(request.originalUrl ?? request.url ?? ""),
  headers: nodeHeaders((name) => headerOf(request, name))
})
