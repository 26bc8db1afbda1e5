import type { Mount } from "../embed/Mount.ts"
import { isWinding, readTarget } from "../requestTarget.ts"

/** A path that may be two places stays with the app: what it has put before ours, it has put before one of them. */
export const isOurs = (mount: Mount, url: string): boolean => {
  if (isWinding(url)) return false
  const target = readTarget(url)
  return target !== undefined && mount.owns(target.path)
}
