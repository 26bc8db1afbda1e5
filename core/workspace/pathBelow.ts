import { basePath, type Workspace } from "./Workspace.ts"

const wellKnown = /^(\/\.well-known\/[^/]+)(\/.*)?$/

const isUnder = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`)

/**
 * A request's path as the routes know it: without the issuer's own path, wherever that stands (RFC 8414 §3.1 puts it
 * behind the well-known one). `undefined` where the path is none of this workspace's.
 */
export const pathBelow = (workspace: Workspace, path: string): string | undefined => {
  const base = basePath(workspace.issuer)
  if (base === "") return path
  if (isUnder(path, base)) return path.slice(base.length) || "/"
  const [, document, suffix = ""] = wellKnown.exec(path) ?? []
  return document !== undefined && isUnder(suffix, base) ? document + suffix.slice(base.length) : undefined
}
