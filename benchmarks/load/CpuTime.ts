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

/** CPU time of a process and all its threads so far, in milliseconds. */
export const cpuOf = (pid: number): number => {
  const fields = fieldsOf(pid)
  return ((fields[at.utime] ?? 0) + (fields[at.stime] ?? 0)) * tick
}

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
