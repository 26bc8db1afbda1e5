import { Effect } from "effect"

/** What came back: status 0 where nothing did, because no server listened or the connection broke. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

const nothing: Reply = { status: 0, headers: new Headers(), body: "" }

/** Longer than any request may take; a reply with status 1 is one that never came. */
const patience = 30_000
const hung: Reply = { ...nothing, status: 1 }

export const send = (url: string, init: RequestInit = {}): Effect.Effect<Reply> =>
  Effect.promise(async () => {
    const signal = AbortSignal.timeout(patience)
    try {
      // Over a connection of its own: Bun repeats no POST over one that was kept and that the server, to which it was
      // idle, closes at that moment. Status 0 then is a request that a server took.
      const response = await fetch(url, { redirect: "manual", keepalive: false, ...init, signal })
      return { status: response.status, headers: response.headers, body: await response.text() }
    } catch {
      return signal.aborted ? hung : nothing
    }
  })

/** A field of a JSON answer; empty where there is none. */
export const field = (reply: Reply, name: string): string => {
  const body: unknown = JSON.parse(reply.body === "" ? "{}" : reply.body)
  const value: unknown = typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined
  return typeof value === "string" ? value : ""
}
