import { randomBytes } from "node:crypto"
import { chmodSync, chownSync, mkdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { User } from "./unprivilegedUser.ts"

/** A fresh folder that goes with the scope. Whoever is named as its owner can reach it, whoever runs the tests. */
export const throwawayFolder = (name: string, owner?: User): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = join(tmpdir(), `tessera-${name}-${randomBytes(6).toString("hex")}`)
      mkdirSync(folder, { mode: 0o700 })
      if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  )

/** Lets other users pass through a folder to one below it that they own, and see nothing else. */
export const letThrough = (folder: string): void => chmodSync(folder, 0o711)
