import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled } from "./ensureInstalled.mjs"
import { findBun } from "./findBun.mjs"
import { root } from "./root.mjs"

/** @type {(line: string, status?: number) => never} */
export const giveUp = (line, status = 1) => {
  process.stderr.write(`${line}\n`)
  process.exit(status)
}

/**
 * A terminal sends Ctrl-C and its own closing to the whole foreground group, so Bun has them already; twice could mean
 * "at once" to it. Whatever else arrives was meant for this process alone.
 *
 * @param {NodeJS.Signals} signal
 */
const reachesBunAnyway = (signal) => process.stdin.isTTY && signal !== "SIGTERM"

const parentCheck = 200

/**
 * npm passes a signal on to the shell that it runs scripts in, and the shell dies of it without a word to this process.
 * So a parent that is gone counts as a request to stop.
 *
 * @param {() => void} stop
 */
const stopWithNpm = (stop) => {
  if (process.env.npm_lifecycle_event === undefined || process.platform === "win32") return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, parentCheck)
  watch.unref()
}

/** Leaves node_modules as the lock file wants it, or ends the process with the reason. */
export const install = () => {
  if (Number(process.versions.node.split(".")[0]) < 20) giveUp(`Node 20 or later is needed; this is ${process.version}`)
  const failure = ensureInstalled()
  if (failure !== undefined) giveUp(failure)
}

/**
 * Runs a script of this checkout under Bun and becomes it, as far as a parent can: same streams, same signals, same
 * end.
 *
 * @param {string} script
 * @param {ReadonlyArray<string>} args
 * @param {Record<string, string>} [environment] what Bun is told beside the environment of this process
 */
export const launch = (script, args, environment) => {
  install()
  const bun = findBun()
  if (bun === undefined)
    giveUp(`npm brought no Bun that runs on ${process.platform} ${process.arch}; see node_modules/@oven`)
  const file = join(root, script)
  if (!existsSync(file)) giveUp(`${script} is missing from this checkout`)

  // Bun runs what a bunfig.toml in the folder that it is started in tells it to run: ours is the one that it takes.
  const config = `--config=${join(root, "runtimes/launch/bunfig.toml")}`
  // Without its launcher Bun could not be stopped properly: when the launcher is killed, Bun and its children go too.
  const child = spawn(bun, [config, "--no-orphans", file, ...args], {
    stdio: "inherit",
    env: { ...process.env, ...environment }
  })
  child.on("error", (error) => giveUp(`${bun} could not be started: ${error.message}`))

  const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])
  for (const signal of signals) process.on(signal, () => reachesBunAnyway(signal) || child.kill(signal))
  stopWithNpm(() => child.kill("SIGTERM"))

  child.on("exit", (status, signal) => {
    if (signal === null) process.exit(status)
    for (const each of signals) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
}
