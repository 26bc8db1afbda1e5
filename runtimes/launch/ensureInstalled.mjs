import { spawnSync } from "node:child_process"
import { lstatSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./root.mjs"

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean }} Entry */

/** @param {string} file @returns {Record<string, Entry> | undefined} */
const packagesIn = (file) => {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages
  } catch {
    return undefined
  }
}

/**
 * By content, not by date: a checkout touches the lock file and changes nothing, and a branch may bring an older one.
 * An optional package may be absent, because npm leaves out what is for other platforms.
 *
 * @param {Record<string, Entry>} wanted
 * @param {Record<string, Entry> | undefined} present
 */
export const isCurrent = (wanted, present) =>
  present !== undefined &&
  Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true
    const found = present[path]
    if (found === undefined) return entry.optional === true || entry.devOptional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })

const isLink = () => lstatSync(join(root, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink() === true

/** @returns {string | undefined} what went wrong, in one line */
const npmCi = () => {
  // Warnings are about tools of the tests that want a newer Node than this; a user can do nothing about them.
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"]
  const npm = process.env.npm_execpath ?? ""
  // Standard output belongs to the program that is launched, so npm reports on standard error.
  /** @type {import("node:child_process").StdioOptions} */
  const stdio = ["ignore", 2, 2]
  const ended = /npm-cli\.[cm]?js$/.test(npm)
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio })
    : spawnSync("npm", args, { cwd: root, stdio, shell: process.platform === "win32" })
  if (ended.error) return `npm could not be started: ${ended.error.message}`
  return ended.status === 0 ? undefined : `npm ci failed with status ${ended.status ?? ended.signal}`
}

/**
 * Makes `node_modules` what `package-lock.json` says, and does nothing when it is already.
 *
 * @returns {string | undefined} what went wrong, in one line
 */
export const ensureInstalled = () => {
  const wanted = packagesIn("package-lock.json")
  if (wanted === undefined) return "package-lock.json is missing or unreadable"
  if (isCurrent(wanted, packagesIn("node_modules/.package-lock.json"))) return undefined
  if (isLink()) {
    // Other checkouts share it, and npm ci would empty it under them.
    process.stderr.write("node_modules is a link and differs from package-lock.json; it is used as it is\n")
    return undefined
  }
  process.stderr.write("Installing what package-lock.json asks for; the first time that takes a minute …\n")
  return npmCi()
}
