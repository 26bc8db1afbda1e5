import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname } from "node:path"

const ownerOnly = 0o600

const narrow = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined && (found.mode & 0o077) !== 0) chmodSync(path, ownerOnly)
}

/**
 * Makes the file, where it is missing, and its folder so that only their owner can read them; SQLite gives its `-wal` and
 * `-shm` the mode of the file. A file that exists is never opened here: closing it would drop the locks that this process
 * holds on it through SQLite.
 */
export const makePrivate = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    // Not exclusive: of two processes that start at once, both may create it.
    closeSync(openSync(path, "a", ownerOnly))
  }
}

/** What an earlier run, or somebody since, left open to others. */
export const closeToOthers = (path: string): void => {
  for (const suffix of ["", "-wal", "-shm"]) narrow(path + suffix)
}
