import { randomBytes } from "node:crypto"
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { User } from "./unprivilegedUser.ts"

const prefix = "tessera-test-"

const remove = (folder: string) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })

/** A new folder, removed with the scope. `owner` can reach it, whichever user runs the tests. */
export const throwawayFolder = (name: string, owner?: User): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = join(tmpdir(), `${prefix}${name}-${randomBytes(6).toString("hex")}`)
      mkdirSync(folder, { mode: 0o700 })
      if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
      return folder
    }),
    (folder) => Effect.sync(() => remove(folder))
  )

/** Lets other users reach a folder of theirs below this one, and list nothing. */
export const letThrough = (folder: string): void => chmodSync(folder, 0o711)

const longerThanAnyRun = 24 * 60 * 60 * 1000

/**
 * Removes folders that a run killed with -9 left. Only those of a day ago, because another run may use the newer
 * ones.
 */
export const sweepThrowaways = (parent: string, now: number): void => {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(prefix)) continue
    const folder = join(parent, name)
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - changed > longerThanAnyRun) remove(folder)
  }
}
