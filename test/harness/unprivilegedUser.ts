import { readFileSync } from "node:fs"

export interface User {
  readonly uid: number
  readonly gid: number
}

const find = (passwd: string, name: string): User | undefined => {
  const [, , uid, gid] =
    passwd
      .split("\n")
      .map((line) => line.split(":"))
      .find(([user]) => user === name) ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** The user that runs PostgreSQL, which refuses root; `undefined` if this process is not root. */
export const unprivilegedUser = (): User | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const passwd = readFileSync("/etc/passwd", "utf8")
  return find(passwd, "postgres") ?? find(passwd, "nobody")
}
