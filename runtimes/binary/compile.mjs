import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { findBun } from "../launch/findBun.mjs"
import { root } from "../launch/root.mjs"

/** What Bun is told besides the entry, the target and the place to write to. */
const flags = [
  "--compile",
  // Parsed when it is built and not at every start, which takes half as long so.
  "--bytecode",
  "--format=esm",
  // Names stay, so that a report of our defect has a readable stack.
  "--minify-whitespace",
  "--minify-syntax",
  "--sourcemap=none",
  // Whatever lies in the folder that the server is started in must not become code of the server.
  "--no-compile-autoload-bunfig",
  "--no-compile-autoload-tsconfig",
  "--no-compile-autoload-package-json",
  // Bun writes down where a CommonJS module stood when it was built. What asks for it only shortens its stacks by it.
  '--define=__dirname="/"'
]

/**
 * A platform as Bun names it (`bun-linux-arm64`), as the name of the package that has Bun for it.
 *
 * @param {string} target
 */
export const packageFor = (target) => `@oven/${target.replace(/-arm64\b/, "-aarch64")}`

/** @param {string} name @returns {string | undefined} */
const bunIn = (name) =>
  ["bun", "bun.exe"].map((file) => join(root, "node_modules", name, "bin", file)).find((file) => existsSync(file))

/**
 * Where Bun for another platform is, or what to do to have it. Bun would fetch it from the network by itself, past the
 * lock file, so it is never left to.
 *
 * @param {string} target
 * @returns {{ readonly file: string } | { readonly failure: string }}
 */
const bunFor = (target) => {
  if (!/^bun-[a-z0-9]+(?:-[a-z0-9]+)+$/.test(target))
    return { failure: `${target} is no target, as bun-linux-arm64 is` }
  const name = packageFor(target)
  const file = bunIn(name)
  if (file !== undefined) return { file }
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  return { failure: `Bun for ${target} is not here: npm install --no-save --force ${name}@${devDependencies.bun}` }
}

/**
 * Makes one executable of a program and all that it imports.
 *
 * @param {{ readonly entry: string, readonly outfile: string, readonly target?: string | undefined }} wanted
 * @returns {string | undefined} what went wrong
 */
export const compile = ({ entry, outfile, target }) => {
  const bun = findBun()
  if (bun === undefined) return `npm brought no Bun that runs on ${process.platform} ${process.arch}`
  const other = target === undefined ? undefined : bunFor(target)
  if (other !== undefined && "failure" in other) return other.failure
  const forTarget = other === undefined ? [] : [`--target=${target}`, `--compile-executable-path=${other.file}`]
  const args = ["build", ...flags, ...forTarget, entry, "--outfile", outfile]
  const built = spawnSync(bun, args, { cwd: root, encoding: "utf8" })
  if (built.error) return `${bun} could not be started: ${built.error.message}`
  return built.status === 0 ? undefined : `Bun could not compile ${entry}:\n${built.stdout}${built.stderr}`
}
