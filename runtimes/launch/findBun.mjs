import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "./root.mjs"

const scope = join(root, "node_modules", "@oven")
const executable = process.platform === "win32" ? "bun.exe" : "bun"

/** @param {string} file */
const runs = (file) => spawnSync(file, ["--version"], { stdio: "ignore" }).status === 0

/**
 * The Bun that npm brought for this platform. The `bun` package itself is only a stub until its install script has
 * run, and install scripts are off here; so look where the binaries are.
 *
 * @returns {string | undefined}
 */
export const findBun = () => {
  const builds = existsSync(scope) ? readdirSync(scope).filter((name) => name.startsWith("bun-")) : []
  const likely = `bun-${process.platform === "win32" ? "windows" : process.platform}-`
  return builds
    .sort((a, b) => Number(b.startsWith(likely)) - Number(a.startsWith(likely)) || a.length - b.length)
    .map((name) => join(scope, name, "bin", executable))
    .find((file) => existsSync(file) && runs(file))
}
