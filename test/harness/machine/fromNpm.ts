import { mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"

const cache = join(import.meta.dir, "../../../node_modules/.cache")

/** A program that a package of npm's carries in `bin`. */
export interface Packed {
  /** Of the folder where it is kept between runs. */
  readonly keptAs: string
  readonly package: string
  readonly version: string
  readonly program: string
  /** Whether it runs, and is the one that is wanted. */
  readonly isGood: (file: string) => Effect.Effect<boolean>
}

const within = (prefix: string, { package: name, program }: Packed) =>
  join(prefix, "node_modules", name, "bin", program)

const folderOf = ({ keptAs }: Packed) => join(cache, keptAs)

/** Where it is, if an earlier run has installed it. */
export const keptFile = (packed: Packed): string => within(folderOf(packed), packed)

/**
 * Installs it, runs no script of the package's, and answers what went wrong. It goes into a temporary folder that is
 * renamed, so that a concurrent run never sees half of it.
 */
export const installByNpm = Effect.fnUntraced(function* (packed: Packed) {
  const kept = folderOf(packed)
  const draft = `${kept}-${process.pid}`
  mkdirSync(draft, { recursive: true })
  const spec = `${packed.package}@${packed.version}`
  const { status, stderr } = yield* runProgram(
    "npm",
    [
      "install",
      "--ignore-scripts",
      "--no-save",
      "--no-package-lock",
      "--no-audit",
      "--no-fund",
      "--prefix",
      draft,
      spec
    ],
    { cwd: draft, env: process.env }
  )
  const runs = status === 0 && (yield* packed.isGood(within(draft, packed)))
  if (runs && !(yield* packed.isGood(keptFile(packed)))) {
    rmSync(kept, { recursive: true, force: true })
    renameSync(draft, kept)
  }
  rmSync(draft, { recursive: true, force: true })
  if (runs) return undefined
  return status === 0 ? `what ${spec} brings does not run here` : `npm: ${stderr.trim().split("\n")[0]}`
})
