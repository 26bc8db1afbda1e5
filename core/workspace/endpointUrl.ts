import { basePath, type Workspace } from "./Workspace.ts"

/**
 * The address of one of a workspace's endpoints. A well-known path goes between the host and the issuer's own path
 * (RFC 8414 §3.1, RFC 9728 §3.1); every other path goes behind it.
 */
export const endpointUrl = (workspace: Workspace, path: string): string => {
  if (!path.startsWith("/.well-known/")) return workspace.issuer + path
  const base = basePath(workspace.issuer)
  return workspace.issuer.slice(0, workspace.issuer.length - base.length) + path + base
}
