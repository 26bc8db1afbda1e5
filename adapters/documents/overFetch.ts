import { Effect, Result } from "effect"
import type { DocumentFault } from "../../core/ports/Documents.ts"
import { type Answer, Body, fault, faultOfHead, type Head, requestHeaders } from "./Answer.ts"
import type { FetchOptions } from "./FetchOptions.ts"
import { type Exchanges, type Get, makeDocuments } from "./makeDocuments.ts"
import type { Target } from "./Target.ts"

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

const headOf = ({ headers, status, type }: Response): Head => ({
  // What a browser's fetch makes of a redirect that is not followed.
  status: type === "opaqueredirect" ? 302 : status,
  header: (name) => headers.get(name) ?? undefined
})

const read = async (response: Response, limits: Parameters<Get>[1]): Promise<Result.Result<Answer, DocumentFault>> => {
  const head = headOf(response)
  const wrong = faultOfHead(head, limits)
  if (wrong !== undefined) return Result.fail(wrong)
  const body = new Body(limits.longest)
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    if (!body.add(part.value)) return Result.fail(fault("too_long"))
  }
  return Result.succeed({ ...head, body: body.whole() })
}

/** No address can be checked here, so only hosts that the operator named are gone to. */
const ask = <A>(
  fetch: Fetch,
  { allowed, url }: Target,
  init: RequestInit,
  take: (response: Response) => Promise<Result.Result<A, DocumentFault>>
): Effect.Effect<A, DocumentFault> =>
  allowed
    ? Effect.callback<A, DocumentFault>((resume) => {
        const ending = new AbortController()
        fetch(url.href, { ...init, redirect: "manual", signal: ending.signal })
          .then(take)
          .then(
            (answer) => resume(Effect.fromResult(answer)),
            () => resume(Effect.fail(fault("unreachable")))
          )
          .finally(() => ending.abort())
        return Effect.sync(() => ending.abort())
      })
    : Effect.fail(fault("address_refused"))

export const exchangesOverFetch = (fetch: Fetch): Exchanges => ({
  get: (target, limits) => ask(fetch, target, { headers: requestHeaders }, (response) => read(response, limits)),
  post: (target, form) =>
    ask(
      fetch,
      target,
      {
        method: "POST",
        headers: { ...requestHeaders, "content-type": "application/x-www-form-urlencoded" },
        body: form
      },
      async (response) => Result.succeed(headOf(response).status)
    )
})

/** For Workers, and wherever else no address can be checked. */
export const openDocuments = ({ allow }: FetchOptions) =>
  makeDocuments(
    exchangesOverFetch((url, init) => fetch(url, init)),
    allow
  )
