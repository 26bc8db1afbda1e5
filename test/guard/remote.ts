import type { IntrospectionFailure } from "../../runtimes/guard/RemoteGuardOptions.ts"
import { type RemoteGuardOptions, remoteGuard } from "../../runtimes/guard.ts"
import { type CreateOptions, createTessera, type EmbeddedTessera } from "../../runtimes/tessera.ts"
import { options, testClock } from "../embed/host.ts"

type Over = Partial<RemoteGuardOptions>

/** What stands between the guard and the server: counts the questions, and can be told to go wrong or to wait. */
export const between = (through: (url: string, init: RequestInit) => Promise<Response> = fetch) => {
  let heard: () => void = () => undefined
  const line = {
    asked: 0,
    /** Resolves when the server has answered the next question. */
    answered: () =>
      new Promise<void>((resolve) => {
        heard = resolve
      }),
    /** Instead of asking the server. */
    instead: undefined as undefined | ((init: RequestInit) => Promise<Response>),
    /** Until it resolves, answers are on their way. */
    gate: undefined as undefined | Promise<void>,
    ask: async (url: string, init: RequestInit): Promise<Response> => {
      line.asked++
      const { gate, instead } = line
      if (instead !== undefined) return instead(init)
      const answer = await through(url, init)
      heard()
      await gate
      return answer
    }
  }
  return line
}

export interface Remote {
  readonly auth: EmbeddedTessera
  readonly guard: ReturnType<typeof remoteGuard>
  readonly line: ReturnType<typeof between>
  readonly failures: Array<IntrospectionFailure>
  /** Of the server and of its guards. */
  readonly clock: Awaited<ReturnType<typeof testClock>>["clock"]
  readonly wait: (millis: number) => Promise<void>
  readonly resource: string
  /** Another guard over the same server. */
  readonly guardOf: (over: Over) => ReturnType<typeof remoteGuard>
}

export const apiResource = "http://127.0.0.1:4000/api"

/** An authorization server that listens, and a resource server's guard that asks it over the network. */
export const withRemote = async (
  over: Over & { readonly host?: Partial<CreateOptions> },
  body: (remote: Remote) => Promise<void>
) => {
  const { host = {}, ...guarded } = over
  const { clock, wait } = await testClock()
  let handle: EmbeddedTessera["handle"] = async () => new Response(null, { status: 503 })
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => handle(request) })
  const issuer = `http://127.0.0.1:${server.port}`
  const auth = createTessera(options({ clock, issuer, ...host }))
  handle = auth.handle
  const line = between()
  const failures: Array<IntrospectionFailure> = []
  try {
    const { key } = await auth.apiKeys.create({ name: "Orders API", introspectOnly: true })
    const guardOf = (own: Over) =>
      remoteGuard({
        issuer,
        apiKey: key,
        resource: issuer,
        fetch: line.ask,
        clock,
        onFailure: (failure) => failures.push(failure),
        ...guarded,
        ...own
      })
    await body({ auth, clock, guard: guardOf({}), guardOf, line, failures, wait, resource: issuer })
  } finally {
    await auth.close()
    await server.stop(true)
  }
}
