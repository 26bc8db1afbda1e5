import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { User } from "../../harness/unprivilegedUser.ts"
import { startChild } from "../../runtimes/given/Child.ts"

/** How near this machine lets a test come to what a container's runtime does. */
export type Confinement = "confined" | "bare"

const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--fork"]

export const confinement = (): Confinement =>
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync("unshare", [...namespaces, "--net", "ip", "link", "set", "lo", "up"]).status === 0
    ? "confined"
    : "bare"

export const inWords: Readonly<Record<Confinement, string>> = {
  confined: "as the first process of namespaces of its own, on the image's root alone, read only, as the image's user",
  bare: "beside a folder that is read only, and not as root (nothing else is hidden: nobody may mount anything here)"
}

/** An image that is laid out as a folder, and what its Containerfile says of it. */
export interface Image {
  readonly root: string
  /** `undefined`: the user who runs the tests. */
  readonly user: User | undefined
  readonly volume: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}

export interface Container {
  readonly by: Confinement
  readonly image: Image
  /** What the container sees as its volume. */
  readonly data: string
  /** Its own holds no other process: every port is free there, and only a process that enters it gets to one. */
  readonly network: "own" | "ours"
  /** Beside what the image says. */
  readonly env?: Readonly<Record<string, string>>
}

/** Where a container with a network of its own is for others: an address that is not the loopback's. */
export const address = "10.88.0.2"

/**
 * `/proc` of its own, the devices that a runtime gives, one volume, a root that is read only, and a user without any
 * privilege. `exec` to the end: the program is the first process, which gets no signal that it does not ask for.
 */
const confining = `
  set -e
  root=$1 volume=$2 data=$3 folder=$4 uid=$5 gid=$6 address=$7
  shift 7
  mount --bind "$root" "$root"
  mount --bind "$data" "$root$volume"
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
  for device in null zero full random urandom tty; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root/dev/shm"
  mount -t tmpfs -o nosuid,nodev,noexec,mode=1777 shm "$root/dev/shm"
  if [ -n "$address" ]; then
    ip link set lo up
    ip address add "$address/32" dev lo
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
  fi
  mount -o remount,bind,ro "$root"
  exec setpriv --no-new-privs unshare --root="$root" --wd="$folder" --setgid="$gid" --setuid="$uid" "$@"`

/** What every runtime adds: where programs would be, and the home that the image's own list of users names. */
const added = ({ root, user }: Image) => {
  const users = readFileSync(join(root, "etc/passwd"), "utf8").split("\n")
  const own = users.map((line) => line.split(":")).find(([, , uid]) => uid === String(user?.uid))
  return {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOSTNAME: "0123456789ab",
    HOME: own?.[5] ?? "/"
  }
}

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  } catch {
    // It has ended.
    return []
  }
}

/** Starts a container with a command of its image, as a runtime would as far as this machine lets us. */
export const startContainer = Effect.fnUntraced(function* (container: Container, command: ReadonlyArray<string>) {
  const { by, data, image, network } = container
  const { folder, root, user, volume } = image
  if (by === "bare" || user === undefined) {
    const [program = "", ...args] = command
    const all = Object.entries({ ...image.env, ...container.env })
    const moved = Object.fromEntries(all.map(([name, value]) => [name, value.replace(volume, data)]))
    const run = (path: string, rest: ReadonlyArray<string>) =>
      startChild(join(root, path), rest, { cwd: data, env: moved, user })
    const child = yield* run(program, args)
    const exec = ([path = "", ...rest]: ReadonlyArray<string>) => run(path, rest)
    const beside = ([path = "", ...rest]: ReadonlyArray<string>) => startChild(path, rest)
    return { child, pid: () => child.process.pid ?? 0, exec, beside }
  }
  const env = { ...added(image), ...image.env, ...container.env }
  const own = network === "own"
  const given = [root, volume, data, folder, String(user.uid), String(user.gid), own ? address : ""]
  const args = [...namespaces, ...(own ? ["--net"] : []), "sh", "-c", confining, "confining", ...given, ...command]
  const child = yield* startChild("unshare", args, { cwd: "/", env })
  /** The program, by the number that it has for us. */
  const pid = () => childrenOf(child.process.pid ?? 0)[0] ?? 0
  // It has a user of its own, and outlives who started it.
  yield* Effect.addFinalizer(() => Effect.sync(() => pid() !== 0 && process.kill(pid(), "SIGKILL")))
  const entering = (...more: ReadonlyArray<string>) => ["--target", String(pid()), ...more]
  /** As `podman exec`, and as a health check is run. */
  const exec = (inside: ReadonlyArray<string>) => {
    const all = ["--mount", "--pid", "--ipc", "--uts", "--net", "--root", "--wd"]
    const as = [`--setgid=${user.gid}`, `--setuid=${user.uid}`]
    return startChild("setpriv", ["--no-new-privs", "nsenter", ...entering(...all, ...as), ...inside], {
      cwd: "/",
      env
    })
  }
  /** A program of ours, in the container's network. */
  const beside = (ours: ReadonlyArray<string>) => startChild("nsenter", [...entering("--net"), ...ours])
  return { child, pid, exec, beside }
})

/** What the kernel says of a process, by the names that it gives. */
export const statusOf = (pid: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readFileSync(`/proc/${pid}/status`, "utf8")
      .split("\n")
      .map((line) => [
        line.split(":")[0] ?? "",
        line
          .slice(line.indexOf(":") + 1)
          .trim()
          .replaceAll("\t", " ")
      ])
  )

/** Where a process may write, as far as what is mounted goes. */
export const writableMounts = (pid: number): ReadonlyArray<string> =>
  readFileSync(`/proc/${pid}/mountinfo`, "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, , , , , options = ""]) => options.split(",").includes("rw"))
    .map(([, , , , point = ""]) => point)
