import type { Mount } from "../embed/Mount.ts"
import { pathOf } from "../requestTarget.ts"

/** A path that may be two places is the app's, as on Node. */
export const isOurs = (mount: Mount, { url }: Request): boolean => {
  const path = pathOf(url)
  return path !== undefined && mount.owns(path)
}
