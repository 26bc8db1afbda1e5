import { Context, Layer } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import { basePath, pathBelow, type Workspace } from "../workspace/Workspace.ts"

/** RFC 9110 §4.2.3: a port that goes without saying may be said, as some proxies do. */
const hostsOf = ({ issuer }: Workspace): ReadonlyArray<string> => {
  const { host, port, protocol } = new URL(issuer)
  return port === "" ? [host, `${host}:${protocol === "https:" ? 443 : 80}`] : [host]
}

/** Which workspace a request is for. Synchronous: a host that keeps its tenants elsewhere keeps a map of them here. */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    readonly resolve: (request: HttpRequest) => Workspace | undefined
  }
>()("tessera/core/ports/Workspaces") {
  /** One workspace, whatever host the request came in under: the issuer is configuration, never the Host header. */
  static readonly layerOne = (workspace: Workspace) => Layer.succeed(Workspaces, { resolve: () => workspace })

  /** Many, told apart by the request's host, and by the path where issuers share one. */
  static readonly layerByHost = (workspaces: Iterable<Workspace>) => {
    const shared = new Map<string, Array<Workspace>>()
    for (const workspace of workspaces) {
      for (const host of hostsOf(workspace)) shared.set(host, [...(shared.get(host) ?? []), workspace])
    }
    /** Hosts that are one workspace's as a whole, as most are: nothing more need be looked at. */
    const whole = new Map<string, Workspace>()
    for (const [host, sharing] of shared) {
      // The longest path first, so that `/a/b` is not taken for `/a`.
      sharing.sort((a, b) => basePath(b.issuer).length - basePath(a.issuer).length)
      const [first, second] = sharing
      if (first === undefined || second !== undefined || basePath(first.issuer) !== "") continue
      whole.set(host, first)
      shared.delete(host)
    }
    return Layer.succeed(Workspaces, {
      resolve: (request) => {
        const host = (request.headers.get("host") ?? "").toLowerCase()
        return (
          whole.get(host) ?? shared.get(host)?.find((workspace) => pathBelow(workspace, request.path) !== undefined)
        )
      }
    })
  }
}
