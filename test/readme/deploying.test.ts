import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect } from "effect"
import { readSettings } from "../../runtimes/server/Settings.ts"
import { onPath } from "../harness/machine/onPath.ts"
import { blocksIn, house, serverPage, textOf } from "./blocks.ts"

const printed = (language: string, mark = ""): string =>
  blocksIn(serverPage).find((block) => block.language === language && block.text.includes(mark))?.text ?? ""

/** `NAME=value` lines, by the section that they stand in. */
const assignments = (text: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  let section = ""
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue
    const head = /^\[(\w+)\]$/.exec(line)?.[1]
    const [, name, value = ""] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (head !== undefined) section = `${head}.`
    else found.set(`${section}${name ?? `not an assignment: ${line}`}`, value)
  }
  return found
}

/** Braces that match, and lines that open, close or end. */
const isWellFormed = (text: string, ending: string): boolean => {
  let depth = 0
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue
    if (line.endsWith("{")) depth++
    else if (line === "}") depth--
    else if (!line.endsWith(ending)) return false
    if (depth < 0) return false
  }
  return depth === 0
}

const inFile = (name: string, text: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), "deploying-")), name)
  writeFileSync(path, text)
  return path
}

describe("the deployment as printed", () => {
  const environment = printed("ini", "tessera.env")
  const unit = assignments(printed("ini", "[Service]"))

  test("has a configuration that the server takes, for the address that the proxies serve", () => {
    const settings = Effect.runSync(
      readSettings.pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnvRecord(Object.fromEntries(assignments(environment)))
        )
      )
    )
    const { host } = new URL(settings.workspace.issuer)
    expect(settings.trustedProxies.has("127.0.0.1")).toBe(true)
    expect(settings.database.file).toBe(`${unit.get("Service.WorkingDirectory")}/tessera.db`)
    expect(printed("caddy")).toContain(`${host} {`)
    expect(printed("caddy")).toContain(`reverse_proxy ${settings.host}:${settings.port}`)
    expect(printed("nginx")).toContain(`server_name ${host};`)
    expect(printed("nginx")).toContain(`proxy_pass http://${settings.host}:${settings.port};`)
  })

  test("has a unit that starts a file of ours, reads that configuration, and lets requests finish", () => {
    const [, started = ""] = /^\/usr\/bin\/node \/opt\/tessera\/(\S+)$/.exec(unit.get("Service.ExecStart") ?? "") ?? []
    expect(existsSync(join(house, started))).toBe(true)
    expect(textOf(serverPage)).toContain("/opt/tessera/runtimes/install.mjs")
    expect(existsSync(join(house, "runtimes/install.mjs"))).toBe(true)
    expect(environment).toStartWith(`# ${unit.get("Service.EnvironmentFile")}\n`)
    expect(unit.get("Service.WorkingDirectory")).toBe(`/var/lib/${unit.get("Service.StateDirectory")}`)
    expect(unit.get("Service.KillMode")).toBe("mixed")
  })

  test("has snippets that are well-formed, also to the programs that read them where those are there", () => {
    expect(isWellFormed(printed("nginx"), ";")).toBe(true)
    expect(isWellFormed(printed("caddy"), "3000")).toBe(true)
    const caddy = onPath("caddy")[0]
    if (caddy !== undefined) {
      const args = ["adapt", "--adapter", "caddyfile", "--config", inFile("Caddyfile", printed("caddy"))]
      expect(spawnSync(caddy, args).status).toBe(0)
    }
    const analyze = onPath("systemd-analyze")[0]
    if (analyze !== undefined) {
      const ours = printed("ini", "[Service]").replace("/usr/bin/node", process.execPath)
      const { stderr } = spawnSync(analyze, ["verify", inFile("tessera.service", ours)], { encoding: "utf8" })
      expect(stderr.split("\n").filter((line) => line.includes("tessera.service:"))).toEqual([])
    }
  })
})
