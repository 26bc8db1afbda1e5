import { describe, expect, test } from "bun:test"
import { ConfigProvider, Effect, Option, Result } from "effect"
import { readSettings } from "../../runtimes/server/Settings.ts"
import { storageVariables } from "../../runtimes/server/StorageSettings.ts"
import { freePort } from "../harness/freePort.ts"
import { environmentOver, tessera } from "./ServerProcess.ts"
import { postgresStore } from "./Store.ts"

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.runSync(
    Effect.result(readSettings).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(environment))
    )
  )

describe("the storage's settings", () => {
  test("are what the adapters would choose, where nothing is said", () => {
    expect(Result.getOrThrow(read({})).storage).toEqual({
      patience: 30_000,
      deadline: Option.none(),
      postgres: {
        poolSize: 10,
        connectTimeout: 3000,
        statementTimeout: 3000,
        prepare: true,
        coalesce: "all",
        schema: "tessera",
        migrations: "run"
      },
      redis: { prefix: "tessera", allowEviction: false }
    })
  })

  test("are taken from the variables", () => {
    const settings = read({
      STORAGE_START_TIMEOUT: "2 minutes",
      STORAGE_TIMEOUT: "800 millis",
      POSTGRES_POOL_SIZE: "4",
      POSTGRES_CONNECT_TIMEOUT: "1 second",
      POSTGRES_STATEMENT_TIMEOUT: "500 millis",
      POSTGRES_PREPARE: "false",
      POSTGRES_COALESCE: "by_workspace",
      POSTGRES_SCHEMA: "oauth_2",
      POSTGRES_MIGRATIONS: "check",
      REDIS_PREFIX: "acme-1",
      REDIS_EVICTION: "allow"
    })
    expect(Result.getOrThrow(settings).storage).toEqual({
      patience: 120_000,
      deadline: Option.some(800),
      postgres: {
        poolSize: 4,
        connectTimeout: 1000,
        statementTimeout: 500,
        prepare: false,
        coalesce: "by_workspace",
        schema: "oauth_2",
        migrations: "check"
      },
      redis: { prefix: "acme-1", allowEviction: true }
    })
  })

  const wrong = {
    STORAGE_START_TIMEOUT: "soon",
    STORAGE_TIMEOUT: "0",
    POSTGRES_POOL_SIZE: "0",
    POSTGRES_CONNECT_TIMEOUT: "1 millis",
    POSTGRES_STATEMENT_TIMEOUT: "-1 seconds",
    POSTGRES_PREPARE: "yes",
    POSTGRES_COALESCE: "some",
    POSTGRES_SCHEMA: 'te"ssera',
    POSTGRES_MIGRATIONS: "later",
    REDIS_PREFIX: "a b",
    REDIS_EVICTION: "lru"
  }

  test("that are wrong are named, all of them, and none of their values is repeated", () => {
    const settings = read(wrong)
    const complaints = Result.isFailure(settings) ? settings.failure.complaints : []
    expect(complaints.map((complaint) => complaint.split(":")[0] ?? "").sort()).toEqual(Object.keys(wrong).sort())
    expect(Object.keys(wrong)).toHaveLength(Object.keys(storageVariables).length)
    for (const value of Object.values(wrong).filter((text) => text.length > 2)) {
      expect(complaints.join("\n")).not.toContain(value)
    }
  })
})

describe("tessera migrate", () => {
  test("prints SQL that psql could run, changes nothing until told to, and then has nothing left to do", () =>
    Effect.gen(function* () {
      const store = yield* postgresStore
      const environment = { ...environmentOver(store), POSTGRES_SCHEMA: "elsewhere" }
      const run = (...args: ReadonlyArray<string>) => tessera(["migrate", ...args], environment)

      const before = yield* run("--dry-run")
      expect(before.status).toBe(0)
      expect(before.stdout).toContain('CREATE TABLE IF NOT EXISTS "elsewhere".grants (')
      expect(before.stdout.trimEnd()).toEndWith("COMMIT;")
      expect((yield* run("--dry-run")).stdout).toBe(before.stdout)

      const port = String(yield* freePort)
      const examined = yield* tessera(["doctor"], { ...environment, PORT: port })
      expect(examined.stdout).toMatch(/^note {2}storage: .*: migrations have to be run first: a table for each kind/m)
      expect(examined.status).toBe(0)
      const examinedStrictly = yield* tessera(["doctor"], { ...environment, PORT: port, POSTGRES_MIGRATIONS: "check" })
      expect(examinedStrictly.stdout).toMatch(/^BAD {3}storage: .*\n {6}.*tessera migrate/m)
      expect(examinedStrictly.status).toBe(1)
      expect((yield* run("--dry-run")).stdout).toBe(before.stdout)

      const refused = yield* tessera(["sweep"], { ...environment, POSTGRES_MIGRATIONS: "check" })
      expect(refused).toMatchObject({ status: 1, stdout: "" })
      expect(refused.stderr).toContain("migrations have to be run first: a table for each kind of record")

      expect(yield* run()).toMatchObject({ status: 0, stdout: "a table for each kind of record: done\n" })
      expect(yield* run()).toMatchObject({ status: 0, stdout: "The database is up to date.\n" })
      expect(yield* run("--dry-run", "--json")).toMatchObject({
        status: 0,
        stdout: '{\n  "pending": [],\n  "sql": ""\n}\n'
      })
      expect(yield* tessera(["sweep"], { ...environment, POSTGRES_MIGRATIONS: "check" })).toMatchObject({
        status: 0,
        stdout: "0 expired records removed.\n"
      })
    }).pipe(Effect.scoped, Effect.runPromise))
})
