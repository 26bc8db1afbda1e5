import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { giveUp, install } from "../launch/launch.mjs"
import { root } from "../launch/root.mjs"
import { manifest, rooms } from "./manifest.mjs"

/**
 * @param {string} folder
 * @param {boolean} isChecked
 */
const compile = (folder, isChecked) => {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const project = ["-p", join(root, "runtimes/tsconfig.json"), "--outDir", folder]
  const args = [tsc, ...project, ...(isChecked ? [] : ["--noCheck"])]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  if (status !== 0) giveUp(`The build failed.\n${stdout}`, 1)
}

/**
 * The compiler leaves the names of sources in declarations. It understands that itself, but the sources are not in the
 * package, and not every tool knows to look for a declaration instead.
 *
 * @param {string} folder
 */
const nameBuiltModules = (folder) => {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".d.ts")) continue
    const file = join(folder, path)
    const text = readFileSync(file, "utf8")
    writeFileSync(file, text.replace(/(\bfrom |\bimport\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'))
  }
}

// The types of a checkout that `npm run check` has gone through need not be checked again, which is half of a build.
const unchecked = "--unchecked"
const args = process.argv.slice(2)
const [to = join(root, "dist"), ...more] = args.filter((arg) => arg !== unchecked)
if (to.startsWith("-") || more.length > 0) giveUp(`usage: node runtimes/package/build.mjs [${unchecked}] [FOLDER]`, 2)
install()

const folder = resolve(to)
mkdirSync(folder, { recursive: true })
for (const room of rooms) rmSync(join(folder, room), { recursive: true, force: true })
compile(folder, !args.includes(unchecked))
for (const room of rooms) nameBuiltModules(join(folder, room))
const checkout = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(checkout), undefined, 2)}\n`)
for (const page of ["README.md", "CHANGELOG.md", "LICENSE"]) copyFileSync(join(root, page), join(folder, page))
process.stdout.write(`${folder}\n`)
