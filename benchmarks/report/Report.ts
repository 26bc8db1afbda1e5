import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { availableParallelism, cpus, release, totalmem, type } from "node:os"
import { join } from "node:path"
import { canPin } from "../measure/processes.ts"
import type { Sample } from "../Plan.ts"

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Half the distance between the least and the greatest, as a share of the median. */
export const spread = (values: ReadonlyArray<number>): number =>
  (Math.max(...values) - Math.min(...values)) / 2 / median(values)

/** What one subject did with one workload, round after round. */
export interface Result {
  readonly part: string
  readonly workload: string
  readonly store: string
  readonly subject: string
  readonly runtime: string
  /** What else it was: connections, grants, processes. */
  readonly case: string
  readonly samples: ReadonlyArray<Sample>
}

/** What is measured, without the figures. */
export type Measured = Pick<Result, "part" | "workload" | "subject" | "store" | "case">

interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memory: string
  readonly system: string
  readonly bun: string
  readonly node: string
  readonly pinned: boolean
}

/** A run as it is kept. */
export interface Report {
  readonly startedAt: string
  readonly commit: string
  /** With short rounds. */
  readonly quick: boolean
  readonly parts: ReadonlyArray<string>
  readonly machine: Machine
  readonly results: ReadonlyArray<Result>
}

const said = (file: string, args: ReadonlyArray<string>, cwd?: string): string => {
  try {
    return execFileSync(file, [...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], cwd }).trim()
  } catch {
    return "unknown"
  }
}

export const describeMachine = (node: string): Machine => ({
  processor: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
  memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
  // The first two numbers: what comes behind is the machine's own name for its kernel.
  system: `${type()} ${release().split(".", 2).join(".")}`,
  bun: Bun.version,
  node: said(node, ["--version"]),
  pinned: canPin
})

export const commitOf = (folder: string): string => said("git", ["rev-parse", "--short", "HEAD"], folder)

// Only this program writes these files.
export const readReport = (file: string): Report => JSON.parse(readFileSync(file, "utf8")) as Report

export const folderOfReports = join(import.meta.dir, "../../artifacts/bench")
