import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"

interface Process {
  readonly pid: number
  readonly parent: number
  readonly zombie: boolean
  readonly stopped: boolean
  /** In a call of the system that no signal interrupts. */
  readonly held: boolean
}

/** `/proc/PID/stat` is `pid (name) state parent …`. The name may hold brackets, so read from the last one. */
const fromStat = (pid: string): Process | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return {
      pid: Number(pid),
      parent: Number(parent),
      zombie: state === "Z",
      stopped: state === "T",
      held: state === "D"
    }
  } catch {
    // The process ended between the listing and the reading.
    return undefined
  }
}

const fromPs = (line: string): Process => {
  const [pid, parent, state] = line.trim().split(/\s+/)
  const is = (letter: string) => state?.startsWith(letter) === true
  return { pid: Number(pid), parent: Number(parent), zombie: is("Z"), stopped: is("T"), held: is("D") || is("U") }
}

/** Debian's smallest images have no `ps`, and macOS has no `/proc`. */
const all = (): ReadonlyArray<Process> =>
  existsSync("/proc/self/stat")
    ? readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .flatMap((pid) => fromStat(pid) ?? [])
    : spawnSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" }).stdout.trim().split("\n").map(fromPs)

const growFamily = (pid: number, processes: ReadonlyArray<Process>): ReadonlyArray<Process> => {
  const grow = (family: ReadonlyArray<Process>): ReadonlyArray<Process> => {
    const isIn = (one: number) => family.some((member) => member.pid === one)
    const children = processes.filter((one) => isIn(one.parent) && !isIn(one.pid))
    return children.length === 0 ? family : grow([...family, ...children])
  }
  return grow(processes.filter((one) => one.pid === pid))
}

/** The process and its descendants. */
export const familyOf = (pid: number): ReadonlyArray<number> => [
  ...new Set([pid, ...growFamily(pid, all()).map((one) => one.pid)])
]

/**
 * Those that are neither stopped (SIGSTOP) nor ended. A shell waits in `vfork` until its child has begun its program:
 * for a child that is stopped before that, so long that the shell is as good as stopped.
 */
export const runningIn = (pid: number): ReadonlyArray<number> => {
  const family = growFamily(pid, all())
  const waits = ({ held, pid }: Process) => held && family.some((one) => one.parent === pid && one.stopped)
  return family.filter((one) => !one.stopped && !one.zombie && !waits(one)).map((one) => one.pid)
}

export const isAlive = (pid: number): boolean => {
  if (existsSync("/proc/self/stat")) return fromStat(String(pid))?.zombie === false
  return all().some((one) => one.pid === pid && !one.zombie)
}

/** Ignores a process that has ended. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // ESRCH: the process is gone already.
  }
}
