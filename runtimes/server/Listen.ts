import { isIP } from "node:net"
import { type Effect, Schema, type Scope } from "effect"
import type { Serve } from "../../core/serve.ts"
import { systemCode } from "../serve/defect.ts"
import type { OnEarlyAnswer } from "../serve/limitConcurrency.ts"
import type { TrustedProxies } from "../serve/peer.ts"
import type { TlsFiles } from "./Tls.ts"

/** RFC 3986 §3.2.2: an IPv6 address in brackets, or its colons would begin a port. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host)

export interface ListenOptions {
  readonly host: string
  readonly port: number
  /** The variable that chose host and port. Default: `HOST` and `PORT`, one each. */
  readonly named?: string
  /** Without it, TLS ends elsewhere. */
  readonly tls?: TlsFiles
  readonly serve: Serve
  readonly onEarlyAnswer?: OnEarlyAnswer
  readonly trustedProxies: TrustedProxies
  /** Milliseconds until a request has to be there as a whole. */
  readonly requestTimeout: number
  /** Milliseconds that the end of the scope waits for requests that are under way. */
  readonly shutdownTimeout: number
}

interface Listening {
  readonly port: number
}

export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { message: Schema.String }) {}

/** What a platform gives: requests are answered until the scope ends, and then those under way still are. */
export type Listen = (options: ListenOptions) => Effect.Effect<Listening, CannotListen, Scope.Scope>

/** Why a port could not be had, from what the system says. */
export const cannotListen = (
  options: Pick<ListenOptions, "host" | "named" | "port">,
  thrown: unknown
): CannotListen => {
  const code = systemCode(thrown) ?? "unknown failure"
  const { named: host = "HOST", named: port = "PORT" } = options
  const both = host === port ? port : `${port} and ${host}`
  const reason =
    code === "EADDRINUSE"
      ? isIP(options.host) > 0 || options.host === "localhost"
        ? `something else listens there; set ${port} to a free one`
        : // Bun says the same of a name that does not resolve.
          `something else listens there, or the name is none of this machine; look at ${both}`
      : code === "EACCES"
        ? `the system allows it to privileged users only; set ${port} to 1024 or higher`
        : `${code}; look at ${both}`
  return new CannotListen({ message: `can't listen on ${options.host} port ${options.port}: ${reason}` })
}
