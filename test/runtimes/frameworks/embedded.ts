import { routeTable } from "../../../core/http/RouteTable.ts"
import { Tessera } from "../../../core/http/Tessera.ts"
import { pathBelow } from "../../../core/workspace/pathBelow.ts"
import { basePath, Issuer, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import type { Mount } from "../../../runtimes/embed/Mount.ts"
import { serveWith } from "../../../runtimes/Serve.ts"
import { app } from "../given/app.ts"

/** What an application of a framework mounts: the very core that the transcript is played on elsewhere. */
export const embedded = async (issuer: string): Promise<Mount> => {
  const runtime = app(issuer)
  const { routes } = await runtime.runPromise(Tessera)
  const find = routeTable(routes)
  const workspace = { id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Example" }
  return {
    serve: serveWith(runtime),
    routes,
    prefix: basePath(workspace.issuer),
    owns: (path) => {
      const below = pathBelow(workspace, path)
      return below !== undefined && find(below) !== undefined
    }
  }
}
