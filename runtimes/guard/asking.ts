import { Effect } from "effect"
import type { IntrospectionFailure } from "./RemoteGuardOptions.ts"

/**
 * Whether a request may wait for what another one has begun. On Workers what a request waits for ends with it when its
 * caller goes away, without a sign: another request that waits for it, or counts on its end, does so for ever.
 */
export const sharesWaiting = (): boolean => globalThis.navigator?.userAgent !== "Cloudflare-Workers"

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** One request to the authorization server: what it answers with 200, whole and in time. */
export const askServer = (
  { fetch, timeout }: { readonly fetch: Fetch; readonly timeout: number },
  url: string,
  init: RequestInit
): Effect.Effect<{ readonly response: Response; readonly text: string }, IntrospectionFailure> =>
  Effect.tryPromise({
    try: async (signal) => {
      // Wherever it led, a token and a key have no business there.
      const response = await fetch(url, { ...init, redirect: "manual", signal })
      if (response.status === 200) return { response, text: await response.text() }
      // Not waited for: what comes of it changes nothing.
      void response.body?.cancel().catch(() => undefined)
      return { response, text: "" }
    },
    catch: (cause): IntrospectionFailure => ({ _tag: "Unreachable", cause })
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => Effect.fail<IntrospectionFailure>({ _tag: "TimedOut" })
    }),
    Effect.filterOrFail(
      ({ response }) => response.status === 200,
      ({ response }): IntrospectionFailure => ({ _tag: "Status", status: response.status })
    )
  )

/** Tells the host, which is not waited for: what it throws or rejects with is logged, and would end a process on Node. */
export const tellHost = <F>(onFailure: ((failure: F) => unknown) | undefined, failure: F): void => {
  const noteFailed = (cause: unknown) => Effect.runFork(Effect.logError("onFailure failed", cause))
  try {
    const told = onFailure?.(failure)
    if (told instanceof Promise) void told.catch(noteFailed)
  } catch (cause) {
    noteFailed(cause)
  }
}
