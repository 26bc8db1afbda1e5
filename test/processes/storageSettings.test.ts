import { describe, expect, test } from "bun:test"
import { ConfigProvider, Effect, Result } from "effect"
import { migrations } from "../../adapters/postgres/migrations.ts"
import { readSettings } from "../../runtimes/server/Settings.ts"
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
  test("leave the deadline to the store where nothing is said", () => {
    expect(Result.getOrThrow(read({})).storage.deadline).toBeUndefined()
    expect(Result.getOrThrow(read({ STORAGE_TIMEOUT: "800 millis" })).storage.deadline).toBe(800)
  })

  test("that are wrong are named, all of them, and none of their values is repeated", () => {
    const settings = read({ STORAGE_TIMEOUT: "0", DATABASE_URL: "postgres://u:sesame@h/d?pool_size=many" })
    const complaints = Result.isFailure(settings) ? settings.failure.complaints : []
    expect(complaints.map((complaint) => complaint.split(":")[0] ?? "").sort()).toEqual([
      "DATABASE_URL",
      "STORAGE_TIMEOUT"
    ])
    expect(complaints.join("\n")).toContain("pool_size")
    for (const value of ["sesame", "many"]) expect(complaints.join("\n")).not.toContain(value)
  })
})

describe("tessera migrate", () => {
  test("prints SQL that psql could run, changes nothing until told to, and then has nothing left to do", () =>
    Effect.gen(function* () {
      const store = yield* postgresStore
      const given = environmentOver(store)
      const environmentWith = (parameters: string) => ({ ...given, DATABASE_URL: `${store.databaseUrl}?${parameters}` })
      const environment = environmentWith("schema=elsewhere")
      const strict = environmentWith("schema=elsewhere&migrations=check")
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
      const examinedStrictly = yield* tessera(["doctor"], { ...strict, PORT: port })
      expect(examinedStrictly.stdout).toMatch(/^BAD {3}storage: .*\n {6}.*tessera migrate/m)
      expect(examinedStrictly.status).toBe(1)
      expect((yield* run("--dry-run")).stdout).toBe(before.stdout)

      const refused = yield* tessera(["sweep"], strict)
      expect(refused).toMatchObject({ status: 1, stdout: "" })
      expect(refused.stderr).toContain("a table for each kind of record")

      const migrated = yield* run()
      expect(migrated.status).toBe(0)
      // A line for each step, the same that was pending.
      expect(
        migrated.stdout
          .trimEnd()
          .split("\n")
          .map((line) => line.replace(/: done$/, ""))
      ).toEqual(migrations.map(({ name }) => name))
      expect(yield* run()).toMatchObject({ status: 0, stdout: "The database is up to date.\n" })
      expect(yield* run("--dry-run", "--json")).toMatchObject({
        status: 0,
        stdout: '{\n  "pending": [],\n  "sql": ""\n}\n'
      })
      expect(yield* tessera(["sweep"], strict)).toMatchObject({
        status: 0,
        stdout: "0 expired records removed.\n"
      })
    }).pipe(Effect.scoped, Effect.runPromise))
})
