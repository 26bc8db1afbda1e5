import { Context, Layer } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import { pathBelow } from "../workspace/pathBelow.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"

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
    const byHost = new Map<string, Array<Workspace>>()
    for (const workspace of workspaces) {
      const host = new URL(workspace.issuer).host
      byHost.set(host, [...(byHost.get(host) ?? []), workspace])
    }
    for (const sharing of byHost.values()) {
      // The longest path first, so that `/a/b` is not taken for `/a`.
      sharing.sort((a, b) => basePath(b.issuer).length - basePath(a.issuer).length)
    }
    return Layer.succeed(Workspaces, {
      resolve: (request) => {
        const sharing = byHost.get((request.headers.get("host") ?? "").toLowerCase())
        return sharing?.find((workspace) => pathBelow(workspace, request.path) !== undefined)
      }
    })
  }
}
