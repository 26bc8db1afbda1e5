import { describe, expect, test } from "bun:test"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { node } from "../../harness/given.ts"
import { plainEnvironment } from "../../harness/runProgram.ts"
import { collectorOf, purgeDelayOf, smallCollector } from "../given/memorySettings.ts"

const checkout = join(import.meta.dir, "../../..")
const launcher = join(checkout, "runtimes/launch/launch.mjs")
const obedient = "test/runtimes/launch/obedient.ts"

const launching = (script: string, ...args: ReadonlyArray<string>) => [
  "--input-type=module",
  "--eval",
  `import { launch } from ${JSON.stringify(launcher)}; launch(${JSON.stringify(script)}, ${JSON.stringify(args)})`
]

const launched = (script: string, ...args: ReadonlyArray<string>) =>
  spawnSync(node(), launching(script, ...args), { encoding: "utf8" })

describe("the launcher", () => {
  test("hands on arguments, output and exit status", () => {
    const { status, stdout } = launched(obedient, "7", "a b", "--c=d")
    expect(stdout).toBe('["a b","--c=d"]\n')
    expect(status).toBe(7)
  })

  test("runs nothing that lies in the folder that it is started in", () => {
    const cwd = mkdtempSync(join(tmpdir(), "tessera-launch-"))
    try {
      writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./evil.ts"]\n')
      writeFileSync(join(cwd, "evil.ts"), "process.exit(77)\n")
      writeFileSync(
        join(cwd, "tsconfig.json"),
        '{ "compilerOptions": { "paths": { "node:process": ["./evil.ts"] } } }\n'
      )
      const { status } = spawnSync(node(), launching(obedient, "7"), { encoding: "utf8", cwd })
      expect(status).toBe(7)
    } finally {
      rmSync(cwd, { recursive: true })
    }
  })

  test("ends by the signal that ended what it launched", () => {
    expect(launched(obedient, "die").signal).toBe("SIGKILL")
  })

  test("hands on a signal, and waits for what comes of it", async () => {
    const child = spawn(node(), launching(obedient, "wait"), { stdio: ["ignore", "pipe", "inherit"] })
    const ended = new Promise((resolve) => child.once("exit", resolve))
    let said = ""
    child.stdout.on("data", (chunk) => {
      if (said === "") child.kill("SIGTERM")
      said += chunk
    })
    expect(await ended).toBe(9)
    expect(said).toBe("[]\ndrained\n")
  })

  test("says in one line what is missing", () => {
    const { status, stderr } = launched("runtimes/nowhere.ts")
    expect(stderr).toBe("runtimes/nowhere.ts is missing from this checkout\n")
    expect(status).toBe(1)
  })

  test.each(["start.mjs", "tessera.mjs"])(
    "tells Bun how much garbage may gather beside a file, and to keep what records lie in, where no setting did: %s",
    (name) => {
      const saidBy = (env: Readonly<Record<string, string>>) =>
        spawnSync(node(), [join(checkout, "runtimes", name), "serve"], {
          encoding: "utf8",
          env: { ...plainEnvironment, ...env }
        }).stderr
      const told = (env: Readonly<Record<string, string>>) => collectorOf(saidBy({ ...env, BUN_JSC_dumpOptions: "1" }))
      // None of these is served: they lack a path, or a host.
      expect(told({ DATABASE_URL: "sqlite:" })).toEqual(smallCollector)
      expect(told({ DATABASE_URL: "sqlite:", BUN_JSC_heapGrowthMaxIncrease: "1.25" })).toEqual({
        ...smallCollector,
        heapGrowthMaxIncrease: "1.25"
      })
      for (const DATABASE_URL of ["postgres:", "redis:", "nonsense:"]) expect(told({ DATABASE_URL })).toEqual({})
      const inMemory = { DATABASE_URL: "memory:", PORT: "x", MIMALLOC_VERBOSE: "1" }
      expect(purgeDelayOf(saidBy(inMemory))).toBe("-1")
      expect(purgeDelayOf(saidBy({ ...inMemory, MIMALLOC_PURGE_DELAY: "50" }))).toBe("50")
    },
    60_000
  )
})
