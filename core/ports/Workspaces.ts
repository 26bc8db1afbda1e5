import { Context, type Effect, Layer, Result } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { WorkspaceTable } from "../workspace/WorkspaceTable.ts"
import type { StorageUnavailable } from "./Storage.ts"

/** Which workspace a request is for. */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** At once, of those that are at hand. */
    readonly resolve: (request: HttpRequest) => Workspace | undefined
    /**
     * Asked where `resolve` knows none: of workspaces that are kept elsewhere. A caller may write any host, so an
     * implementation bounds what it asks and keeps. Default: those at hand are all that there are.
     */
    readonly find?: (request: HttpRequest) => Effect.Effect<Workspace | undefined, StorageUnavailable>
  }
>()("tessera/core/ports/Workspaces") {
  /** One workspace, whatever host the request came in under: the issuer is configuration, never the Host header. */
  static readonly layerOne = (workspace: Workspace) => Layer.succeed(Workspaces, { resolve: () => workspace })

  /** Many, told apart by the request's host, and by the path where issuers share one. Those in it may change. */
  static readonly layerTable = (table: WorkspaceTable) => Layer.succeed(Workspaces, resolverOf(table))

  /** The same, of workspaces that stay as they are. Throws where two of them share an id or an address. */
  static readonly layerByHost = (workspaces: Iterable<Workspace>) =>
    Workspaces.layerTable(Result.getOrThrow(WorkspaceTable.of(workspaces)))
}

/** Finds the workspaces of a table. */
export const resolverOf = (table: WorkspaceTable): Pick<Workspaces["Service"], "resolve"> => ({
  resolve: ({ headers, path }) => table.find(headers.get("host") ?? "", path)
})
