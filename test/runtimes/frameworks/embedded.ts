import { routeTable } from "../../../core/http/RouteTable.ts"
import { Tessera } from "../../../core/http/Tessera.ts"
import { pathBelow } from "../../../core/workspace/pathBelow.ts"
import { Issuer, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { type Serve, serveWith } from "../../../runtimes/Serve.ts"
import { app } from "../given/app.ts"

/** What an application of a framework mounts. */
export interface Embedded {
  readonly serve: Serve
  readonly owns: (path: string) => boolean
}

export const embedded = async (issuer: string): Promise<Embedded> => {
  const runtime = app(issuer)
  const { routes } = await runtime.runPromise(Tessera)
  const find = routeTable(routes)
  const workspace = { id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Example" }
  return {
    serve: serveWith(runtime),
    owns: (path) => {
      const below = pathBelow(workspace, path)
      return below !== undefined && find(below) !== undefined
    }
  }
}
