import { statSync } from "node:fs"
import { resolve } from "node:path"

/** Milliseconds between two looks, so that they cost writers nothing. */
const pause = 1000

const inodeAt = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

/**
 * Answers what throws once the path no longer leads to the file that is open there: it was removed, or another was put in
 * its place, such as a backup. What is written to the old one would be gone with the process. SQLite itself looks only
 * where it keeps no write-ahead log.
 */
export const staysInPlace = (path: string): (() => void) => {
  // As SQLite has it: a host's process may go to another folder later.
  const place = resolve(path)
  const opened = inodeAt(place)
  let lookedAt = performance.now()
  return () => {
    const now = performance.now()
    if (now - lookedAt < pause) return
    if (inodeAt(place) !== opened) {
      throw new Error(`${place} was removed or replaced while it was open; put it back, or start the server again`)
    }
    lookedAt = now
  }
}
