import { spawnSync } from "node:child_process"
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Whom the Containerfile's USER names. */
const user = 65532

/** What the loader says it would load, each at its full path. @param {string} executable */
const librariesOf = (executable) => {
  const { status, stdout } = spawnSync("ldd", [executable], { encoding: "utf8" })
  if (status !== 0) throw new Error(`ldd cannot read ${executable}`)
  const absent = /^\s*(\S+) => not found$/m.exec(stdout)?.[1]
  if (absent !== undefined) throw new Error(`${executable} needs ${absent}, which is not here`)
  return [...stdout.matchAll(/(?:=>|^)\s+(\/\S+) \(0x/gm)].map(([, path = ""]) => path)
}

const [executable, root] = process.argv.slice(2)
if (executable === undefined || root === undefined) throw new Error("usage: imageRoot.mjs EXECUTABLE FOLDER")

/** @param {string} from @param {string} to */
const place = (from, to) => {
  const path = join(root, to)
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(from, path)
  chmodSync(path, 0o555)
}

place(executable, "tessera")
for (const library of librariesOf(executable)) place(library, library)

mkdirSync(join(root, "etc"), { recursive: true })
writeFileSync(join(root, "etc/passwd"), `tessera:x:${user}:${user}::/data:/nonexistent\n`)
writeFileSync(join(root, "etc/group"), `tessera:x:${user}:\n`)
// Names in /etc/hosts count before those of the DNS, whatever the C library takes for granted.
writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n")

// Where the container's runtime mounts what it brings, on a root that cannot be written to.
for (const folder of ["dev", "proc", "sys", "run"]) mkdirSync(join(root, folder), { recursive: true })
mkdirSync(join(root, "tmp"), { recursive: true })
chmodSync(join(root, "tmp"), 0o1777)

mkdirSync(join(root, "data"), { recursive: true, mode: 0o700 })
chownSync(join(root, "data"), user, user)
