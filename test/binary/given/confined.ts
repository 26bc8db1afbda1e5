import { spawnSync } from "node:child_process"
import { join } from "node:path"
import type { User } from "../../harness/unprivilegedUser.ts"
import { startChild } from "../../runtimes/given/Child.ts"

/** How near this machine lets a test come to what a container's runtime does. */
export type Confinement = "mounted" | "bare"

export const confinement = (): Confinement =>
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--mount", "mount", "--make-rprivate", "/"]).status === 0
    ? "mounted"
    : "bare"

export const inWords: Readonly<Record<Confinement, string>> = {
  mounted: "in the image's root alone, mounted read only, as the image's user",
  bare: "beside a folder that is read only, and not as root (nothing else is hidden: nobody may mount anything here)"
}

export interface Confined {
  readonly by: Confinement
  /** The image's root, as a folder. */
  readonly root: string
  /** What the container sees as `/data`. */
  readonly data: string
  /** `undefined`: whoever runs the tests. */
  readonly user: User | undefined
  readonly env: Readonly<Record<string, string>>
}

/** `/proc` and `/dev` of its own, one volume, a root that is read only, and a user without any privilege. */
const confining = `
  set -e
  root=$1 data=$2 uid=$3 gid=$4
  shift 4
  mount --bind "$root" "$root"
  mount --bind "$data" "$root/data"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -o remount,bind,ro "$root"
  exec setpriv --no-new-privs unshare --root="$root" --wd=/data --setgid="$gid" --setuid="$uid" "$@"`

/** Where containers look for programs by default; ours has none there. */
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/** Runs a command of the image as a container's runtime would, as far as this machine lets us. */
export const startConfined = ({ by, data, env, root, user }: Confined, command: ReadonlyArray<string>) => {
  if (by === "mounted" && user !== undefined) {
    const given = ["confining", root, data, String(user.uid), String(user.gid)]
    const args = ["--mount", "sh", "-c", confining, ...given, ...command]
    return startChild("unshare", args, { cwd: "/", env: { PATH: path, ...env } })
  }
  const [program = "", ...args] = command
  const moved = Object.entries(env).map(([name, value]) => [name, value.replace("/data", data)])
  return startChild(join(root, program), args, { cwd: data, env: Object.fromEntries(moved), user })
}
