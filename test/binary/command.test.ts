import { beforeAll, describe, expect, test } from "bun:test"
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { packageFor } from "../../runtimes/binary/compile.mjs"
import { version } from "../../runtimes/command/version.ts"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { companiesStatus, postToken, register } from "../given/serverVisitor.ts"
import { buildScript } from "../harness/buildExecutable.ts"
import { freePort } from "../harness/freePort.ts"
import { node, postgresUrl, redisClusterUrl, redisUrl } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import { scoped } from "../harness/scoped.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { collectorOf, purgeDelayOf, smallCollector } from "../runtimes/given/memorySettings.ts"
import { type Binary, emptyFolder, run, type Started, start, theExecutable } from "./given/binary.ts"

const root = join(import.meta.dir, "../..")

let binary: Binary
beforeAll(() => {
  binary = theExecutable()
})

const inFolder = <A, E>(body: (cwd: string) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.runPromise(Effect.scoped(Effect.suspend(() => Effect.flatMap(emptyFolder(binary), body))))

const command = (args: ReadonlyArray<string>, started: Started & { readonly input?: string }) =>
  run(binary, args, started)

// What a command printed as JSON; a wrong shape fails the assertions about it.
const read = (text: string) => JSON.parse(text) as Record<string, string>

describe("the executable", () => {
  test("has the program's version, its help, and nothing to say of the machine that it was built on", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        expect(yield* command(["--version"], { cwd })).toEqual({
          status: 0,
          stdout: `tessera v${version}\n`,
          stderr: ""
        })
        const help = yield* command(["--help"], { cwd })
        expect(help.status).toBe(0)
        const source = readFileSync(join(root, "runtimes/command/tessera.ts"), "utf8")
        const [, listed = ""] = /withSubcommands\(\[\s*serving\(surroundings\),([^\]]+)\]/.exec(source) ?? []
        // In the source's words: `sealKeys` is `seal-keys`.
        const worded = (name: string) => name.trim().replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
        const names = ["serve", ...listed.split(",").map(worded)]
        expect(names.length).toBeGreaterThan(8)
        for (const name of names) expect(help.stdout).toMatch(new RegExp(`^ +${name}\\b`, "m"))
        expect(readFileSync(binary.file).includes(root)).toBe(false)
        expect(readdirSync(cwd)).toEqual([])
      })
    ))

  test("does in an empty folder what the command line does in a checkout", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const person = ["user", "add", "ada@northwind.example", "--role", "owner"]
        expect(yield* command(person, { cwd, input: "correct horse battery staple" })).toMatchObject({ status: 0 })
        const made = yield* command(["key", "create", "--name", "Backup", "--expires", "90 days", "--json"], { cwd })
        expect(made).toMatchObject({ status: 0, stderr: "" })
        expect(read(made.stdout).key).toStartWith("tsr_ak_")
        expect((yield* command(["key", "list"], { cwd })).stdout).toContain("Backup")
        const grants = ["--grant-type", "client_credentials", "--json"]
        const client = yield* command(["client", "create", "--name", "Job", ...grants], { cwd })
        expect(client).toMatchObject({ status: 0, stderr: "" })
        // The doctor asks who answers there: on the usual port it may be another server.
        const examined = yield* command(["doctor"], { cwd, env: { PORT: String(yield* freePort) } })
        expect(examined).toMatchObject({ status: 0, stderr: "" })
        expect(examined.stdout).toContain("ok    storage: SQLite in ./data/tessera.db; five operations took")
        expect((yield* command(["seal-keys", "new"], { cwd })).stdout).toMatch(/^[\w-]{43}\n$/)
        expect(yield* command(["sweep"], { cwd })).toMatchObject({ status: 0 })
        expect(readdirSync(cwd)).toEqual(["data"])
      })
    ))

  test("tells itself how much garbage may gather beside a file, and nothing where there is none or it is no server", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const told = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
          Effect.map(command(args, { cwd, env: { ...env, BUN_JSC_dumpOptions: "1" } }), ({ status, stderr }) => {
            expect(status).toBe(2)
            return collectorOf(stderr)
          })
        expect(yield* told(["serve"], { DATABASE_URL: "sqlite:" })).toEqual(smallCollector)
        expect(yield* told(["serve"], { PORT: "x" })).toEqual(smallCollector)
        const chosen = { BUN_JSC_heapGrowthMaxIncrease: "1.25" }
        expect(yield* told(["serve"], { PORT: "x", ...chosen })).toEqual({
          ...smallCollector,
          heapGrowthMaxIncrease: "1.25"
        })
        expect(yield* told(["serve"], { DATABASE_URL: "postgres:" })).toEqual({})
        expect(yield* told(["key", "list"], { PORT: "x" })).toEqual({})
        const inMemory = { DATABASE_URL: "memory:", PORT: "x", MIMALLOC_VERBOSE: "1" }
        expect(purgeDelayOf((yield* command(["serve"], { cwd, env: inMemory })).stderr)).toBe("-1")
        expect(purgeDelayOf((yield* command(["key", "list"], { cwd, env: inMemory })).stderr)).not.toBe("-1")
        writeFileSync(join(cwd, ".env"), "DATABASE_URL=postgres:\n")
        expect(yield* told(["serve"], {})).toEqual({})
        expect(yield* told(["serve"], { DATABASE_URL: "sqlite:" })).toEqual(smallCollector)
      })
    ))

  test("says in one line what is wrong with its configuration, and ends with status 2", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        for (const args of [["serve"], ["key", "list"], ["health"]]) {
          const { status, stderr, stdout } = yield* command(args, { cwd, env: { PORT: "x" } })
          expect({ args, status, stderr, stdout }).toEqual({
            args,
            status: 2,
            stderr: "PORT: expected a whole number from 1 to 65535\n",
            stdout: ""
          })
        }
      })
    ))

  test("says what a server answers that is not well", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const unwell = yield* Effect.acquireRelease(
          Effect.sync(() =>
            Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("", { status: 503 }) })
          ),
          (server) => Effect.promise(() => server.stop(true))
        )
        const env = { PORT: String(unwell.port), BASE_URL: `http://127.0.0.1:${unwell.port}/auth` }
        expect(yield* command(["health", "--ready"], { cwd, env })).toEqual({
          status: 1,
          stdout: "",
          stderr: `${env.BASE_URL}/readyz answers 503.\n`
        })
      })
    ))

  test("reads .env beside its data, and runs nothing that lies there", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        writeFileSync(join(cwd, ".env"), "PORT=x\n")
        writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./evil.ts"]\n')
        writeFileSync(join(cwd, "evil.ts"), "process.exit(77)\n")
        writeFileSync(join(cwd, "package.json"), '{ "imports": { "#x": "./evil.ts" } }\n')
        expect(yield* command(["doctor"], { cwd })).toMatchObject({
          status: 2,
          stdout: expect.stringContaining("PORT: expected")
        })
        expect(yield* command(["--version"], { cwd })).toMatchObject({ status: 0 })
      })
    ))

  test("may be copied anywhere, alone", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const elsewhere = join(cwd, "t")
        copyFileSync(binary.file, elsewhere)
        const moved = { ...binary, file: elsewhere }
        const env = { DATABASE_URL: "memory:", PORT: String(yield* freePort) }
        expect(yield* run(moved, ["doctor"], { cwd, env })).toMatchObject({ status: 0 })
      })
    ))
})

describe("over every store, from an empty folder", () => {
  const prefix = `binary_${crypto.randomUUID().slice(0, 8)}`
  const database = Effect.acquireRelease(
    Effect.suspend(() => freshDatabase(postgresUrl())),
    ({ drop }) => drop
  )
  const key = Buffer.alloc(32, 7).toString("base64url")
  const stores = {
    memory: Effect.succeed({ DATABASE_URL: "memory:" }),
    SQLite: Effect.succeed({}),
    PostgreSQL: Effect.map(database, ({ url }) => ({ DATABASE_URL: url, SEAL_KEYS: key })),
    Redis: Effect.sync(() => ({ DATABASE_URL: `${redisUrl()}?prefix=${prefix}`, SEAL_KEYS: key })),
    "Redis Cluster": Effect.sync(() => ({ DATABASE_URL: `${redisClusterUrl()}?prefix=${prefix}`, SEAL_KEYS: key }))
  } satisfies Record<string, Effect.Effect<Readonly<Record<string, string>>, never, Scope.Scope>>

  for (const [name, store] of Object.entries(stores)) {
    test(`it serves ${name}, says when it is healthy, and ends when it is told to`, () =>
      inFolder((cwd) =>
        Effect.gen(function* () {
          const port = yield* freePort
          const env = { PORT: String(port), ...(yield* store) }
          const before = yield* command(["health"], { cwd, env })
          expect(before).toEqual({
            status: 1,
            stdout: "",
            stderr: expect.stringContaining(`http://127.0.0.1:${port}/healthz`)
          })
          const server = yield* start(binary, ["serve"], { cwd, env })
          yield* Effect.promise(() => server.says(/issuer .+\n/))
          expect(yield* command(["health"], { cwd, env })).toEqual({ status: 0, stdout: "alive\n", stderr: "" })
          expect(yield* command(["health", "--ready"], { cwd, env })).toEqual({
            status: 0,
            stdout: "ready\n",
            stderr: ""
          })
          const status = yield* Effect.promise(async () => {
            const url = `http://127.0.0.1:${port}`
            const { client_id, client_secret } = await register(url, {
              grant_types: ["client_credentials"],
              redirect_uris: [],
              token_endpoint_auth_method: "client_secret_post"
            })
            const fields = { grant_type: "client_credentials", client_id, client_secret: String(client_secret) }
            const { access_token } = read(await (await postToken(url, fields)).text())
            return companiesStatus(url, access_token ?? "")
          })
          expect(status).toBe(200)
          server.process.kill("SIGTERM")
          expect(yield* Effect.promise(() => server.ended)).toEqual({ status: 0, signal: null })
        })
      ))
  }
})

describe("building for another platform", () => {
  const build = (folder: string, ...args: ReadonlyArray<string>) =>
    runProgram(node(), [buildScript(), "--outfile", join(folder, "tessera"), ...args], { cwd: root })

  test("takes the Bun that npm brought for it, and never one from elsewhere", () =>
    scoped(function* () {
      const folder = yield* throwawayFolder("target")
      // npm installs this one nowhere but on Android.
      const absent = yield* build(folder, "--target", "bun-linux-arm64-android")
      expect(packageFor("bun-linux-arm64-android")).toBe("@oven/bun-linux-aarch64-android")
      expect(absent.status).toBe(1)
      expect(absent.stderr).toMatch(
        /^Bun for bun-linux-arm64-android is not here: npm install --no-save --force @oven\/bun-linux-aarch64-android@\d+\.\d+\.\d+\n$/
      )
      expect(yield* build(folder, "--target", "../../evil")).toMatchObject({ status: 1 })
      expect(yield* build(folder, "--targt", "bun-linux-x64")).toMatchObject({ status: 2 })
      expect(readdirSync(folder)).toEqual([])
      const own = `bun-${process.platform}-${process.arch}`
      expect(yield* build(folder, "--target", own)).toMatchObject({ status: 0, stderr: "" })
      expect(readdirSync(folder)).toEqual(["tessera"])
    }))
})
