import { fstat } from "node:fs"
import { open, rename, rm, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { systemCode } from "../serve/defect.ts"

const statOf = promisify(fstat)

/** A process that dies while it moves a file leaves its mark behind; no move takes so long. */
const staleMillis = 60_000

/** Alone among the processes that share the file; `undefined` where another is at it. */
const alone = async <A>(path: string, act: () => Promise<A>): Promise<A | undefined> => {
  const mark = `${path}.moving`
  try {
    await (await open(mark, "wx", 0o600)).close()
  } catch (thrown) {
    if (systemCode(thrown) !== "EEXIST") throw thrown
    const since = await stat(mark).catch(() => undefined)
    if (since !== undefined && Date.now() - since.mtimeMs > staleMillis) await rm(mark, { force: true })
    return undefined
  }
  try {
    return await act()
  } finally {
    await rm(mark, { force: true })
  }
}

/**
 * Whether the name has another file by now. Where it has none, the program that moved the file away asks for a new one
 * itself.
 */
const isElsewhere = async (path: string, file: number): Promise<boolean> => {
  const named = await stat(path, { bigint: true }).catch(() => undefined)
  const { dev, ino, nlink } = await statOf(file, { bigint: true })
  return named === undefined ? nlink === 0n : named.dev !== dev || named.ino !== ino
}

/**
 * Keeps a file and the one before it, with `.1` at the end of its name, within `most` bytes together: what would grow
 * beyond half of them is moved to `.1`, in place of an older one. Answers whether the name has, or needs, another file.
 */
export const makeCeiling = (path: string, most: number, sayStuck: (code: string) => void) => {
  let stuck = false
  return async (file: number, coming: number): Promise<boolean> => {
    try {
      if (await isElsewhere(path, file)) return true
      const { size } = await statOf(file)
      if (size === 0 || size + coming <= most / 2) return false
      const moved = await alone(path, async () => {
        // Another process may have moved it meanwhile, and what has the name now is not full.
        if (!(await isElsewhere(path, file))) await rename(path, `${path}.1`)
        return true
      })
      stuck = false
      return moved === true
    } catch (thrown) {
      // Better a file that grows than lines that are lost.
      if (!stuck) sayStuck(systemCode(thrown) ?? "unknown failure")
      stuck = true
      return false
    }
  }
}
