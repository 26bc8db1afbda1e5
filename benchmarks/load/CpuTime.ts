import { dlopen } from "bun:ffi"
import { readFileSync } from "node:fs"
import { familyOf } from "../../test/harness/processes.ts"

/** The kernel tells CPU time in hundredths of a second, on every Linux that one meets. */
const tick = 10

const fieldsOf = (pid: number): ReadonlyArray<number> => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number)
  } catch {
    // It has ended, and its time is its parent's.
    return []
  }
}

/** utime, stime, cutime and cstime are the 14th to 17th field, the state is the 3rd. */
const at = { utime: 11, stime: 12, cutime: 13, cstime: 14 } as const

const inTicks = (pid: number): number => {
  const fields = fieldsOf(pid)
  return ((fields[at.utime] ?? 0) + (fields[at.stime] ?? 0)) * tick
}

/** The clock of a process, in nanoseconds, where the system's library has one. A turn is only some twenty ticks long. */
const processClock = (): ((pid: number) => number | undefined) => {
  try {
    const { symbols } = dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } })
    const time = new BigInt64Array(2)
    // What clock_getcpuclockid makes of a process id.
    return (pid) =>
      symbols.clock_gettime((~pid << 3) | 2, time) === 0
        ? Number(time[0] ?? 0n) * 1000 + Number(time[1] ?? 0n) / 1e6
        : undefined
  } catch {
    return () => undefined
  }
}

const clock = processClock()

/** CPU time of a process and all its threads so far, in milliseconds. */
export const cpuOf = (pid: number): number => clock(pid) ?? inTicks(pid)

const cpuOfEnded = (pid: number): number => {
  const fields = fieldsOf(pid)
  return ((fields[at.cutime] ?? 0) + (fields[at.cstime] ?? 0)) * tick
}

/** The same with all its children, those that have ended included. */
export const cpuOfFamily = (pid: number): number => {
  for (;;) {
    const ended = cpuOfEnded(pid)
    const total = familyOf(pid).reduce((sum, one) => sum + cpuOf(one), ended)
    // One that ended while we looked would be in neither.
    if (cpuOfEnded(pid) === ended) return total
  }
}

/** Resident memory in megabytes. */
export const memoryOf = (pid: number): number => {
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return Number(kilobytes ?? 0) / 1024
  } catch {
    return 0
  }
}
