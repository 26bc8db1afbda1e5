import { basePath, isOnLoopback, type OpenWorkspace } from "./Workspace.ts"

/*
 * RFC 6265 §8.5: a cookie knows no port, so on a loopback host every program gets the cookies of every other one. There a
 * session's pages and its cookie are below a path that only its own browser knows: `/~/` and 22 characters.
 */

/** What every session path begins with. */
export const sessionPaths = "/~"

const segment = /^[A-Za-z0-9_-]{22}$/

const everySessionPath = /\/~\/[A-Za-z0-9_-]{22}(?=\/|$)/g

/** Whether sessions have a path of their own there. */
export const hasSessionPaths = ({ issuer }: { readonly issuer: string }): boolean => isOnLoopback(issuer)

const isSessionPath = (text: string): boolean =>
  text.startsWith(`${sessionPaths}/`) && segment.test(text.slice(sessionPaths.length + 1))

/** A path below the issuer's, as a session path and what follows it. */
export const splitSessionPath = (path: string): { readonly sessionPath: string; readonly rest: string } | undefined => {
  const end = path.indexOf("/", sessionPaths.length + 1)
  const sessionPath = end < 0 ? path : path.slice(0, end)
  return isSessionPath(sessionPath) ? { sessionPath, rest: end < 0 ? "/" : path.slice(end) } : undefined
}

/** What the addresses of a person's pages begin with: the issuer's path, and that of the session. */
export const pagesPath = ({ issuer, sessionPath = "" }: Pick<OpenWorkspace, "issuer" | "sessionPath">): string =>
  basePath(issuer) + sessionPath

/** The same without the session's, from a page that has both. */
export const rootOf = ({ base, sessionPath = "" }: { readonly base: string; readonly sessionPath?: string }): string =>
  base.slice(0, base.length - sessionPath.length)

/** An address of the workspace, as a page of the session links to it. */
export const inSession = (workspace: OpenWorkspace, address: string): string =>
  pagesPath(workspace) + address.slice(basePath(workspace.issuer).length)

/** For logs: who reads them is not to send a browser to a session's path. */
export const withoutSessionPath = (path: string): string => path.replace(everySessionPath, sessionPaths)
