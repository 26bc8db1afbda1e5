import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Duration, Effect } from "effect"
import { readSettings } from "../../runtimes/server/Settings.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command } from "../runtimes/given/tessera.ts"
import { house, readmeBlocks } from "./blocks.ts"

const readme = readFileSync(join(house, "README.md"), "utf8")
const section = (title: string) => new RegExp(`^## ${title}\n(.*?)^## `, "ms").exec(readme)?.[1] ?? ""

/** Name and default of each variable in the tables. */
const documented = [...section("Configuration").matchAll(/^\| `([A-Z_]+)`\s*\| *(.*?) *\|/gm)].map(
  ([, name = "", fallback = ""]) => ({ name, fallback })
)

const settingsWith = (env: Readonly<Record<string, string>>) => {
  const asked = new Set<string>()
  const provider = ConfigProvider.fromEnvRecord(env).pipe(
    ConfigProvider.mapInput((path) => {
      asked.add(path.join("_"))
      return path
    })
  )
  const settings = Effect.runSync(readSettings.pipe(Effect.provideService(ConfigProvider.ConfigProvider, provider)))
  return { asked, settings }
}

describe("the README's tables of variables", () => {
  test("have every variable that the server reads, and no other", () => {
    expect(documented.map(({ name }) => name).sort()).toEqual([...settingsWith({}).asked].sort())
  })

  test("tell the defaults as they are", () => {
    const plain = documented.flatMap(({ fallback, name }) => {
      const [, value] = /^`([^`$]+)`$/.exec(fallback) ?? []
      return value === undefined ? [] : [[name, value] as const]
    })
    expect(plain.length).toBeGreaterThan(15)
    const explicit = settingsWith(Object.fromEntries(plain)).settings
    // Functions of two readings are never the same; everything else is.
    const comparable = (settings: unknown) => JSON.parse(JSON.stringify(settings))
    expect(comparable(explicit)).toEqual(comparable(settingsWith({}).settings))
    expect(Duration.toMillis("60 seconds")).toBe(explicit.policy.codeTtl)
  })
})

describe("the README's command line", () => {
  test("names every command, and no other", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const cwd = yield* throwawayFolder("readme")
        const rows = [...section("Command line").matchAll(/^\| `tessera (\S+)(?: (\S+))?`/gm)].map(
          ([, name = "", below = ""]) => ({ name, below: below.split("\\|").filter((word) => word !== "") })
        )
        const subcommands = (help: string) =>
          [...(help.split("SUBCOMMANDS\n")[1] ?? "").matchAll(/^ {2}(\S+)/gm)].map(([, name = ""]) => name)
        const { stdout } = yield* command(["--help"], { cwd })
        expect(rows.map(({ name }) => name)).toEqual(subcommands(stdout))
        for (const { below, name } of rows) {
          const help = (yield* command([name, "--help"], { cwd })).stdout
          expect({ name, below }).toEqual({ name, below: subcommands(help) })
        }
      }).pipe(Effect.scoped)
    ))

  test("has examples that work as they are printed", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const cwd = yield* throwawayFolder("readme")
        const [block] = readmeBlocks().filter((one) => one.under.at(-1) === "Command line")
        const lines = (block?.text ?? "").split("\n")
        expect(lines.length).toBeGreaterThan(2)
        for (const line of lines) {
          const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "")
          expect(words.slice(0, 2)).toEqual(["npx", "tessera"])
          const { status, stdout } = yield* command(words.slice(2), { cwd })
          expect({ line, status }).toEqual({ line, status: 0 })
          expect(stdout).not.toBe("")
        }
      }).pipe(Effect.scoped)
    ))
})
