import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Effect, Option, Result } from "effect"
import { allowances } from "../../core/ports/Limiter.ts"
import { exitStatus } from "../../runtimes/command/output.ts"
import { bodyLimit } from "../../runtimes/serve/request.ts"
import { readSettings, type Settings, variableNames } from "../../runtimes/server/Settings.ts"
import { freePort } from "../harness/freePort.ts"
import { node } from "../harness/given.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { scoped } from "../harness/scoped.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command } from "../runtimes/given/tessera.ts"
import { house, serverPage } from "./blocks.ts"
import { codeIn, tableRows } from "./tables.ts"

type Environment = Readonly<Record<string, string>>

const readWith = (provider: ConfigProvider.ConfigProvider) =>
  Effect.runSync(Effect.result(readSettings).pipe(Effect.provideService(ConfigProvider.ConfigProvider, provider)))

const settingsOf = (environment: Environment): Settings =>
  Result.getOrThrow(readWith(ConfigProvider.fromEnvRecord(environment)))

const namesRead = Effect.runSync(variableNames)

const rows = tableRows(serverPage, "variable").map(([name, fallback, says]) => ({
  name: codeIn(name) ?? `not code: ${name}`,
  // What another variable decides, as it is where nothing is said of that one either.
  fallback: fallback?.replace("$PORT", "3000"),
  says: `${fallback} ${says}`
}))

const isUnset = (cell = "") => codeIn(cell) === undefined

/** A store is opened by functions, which are new each time. */
const comparable = ({ database, ...settings }: ReturnType<typeof settingsOf>) => ({
  ...settings,
  database: database.location
})

describe("the table of variables", () => {
  test("are those that the settings read: none is missing, none is invented, none stands there twice", () => {
    expect(namesRead.length).toBeGreaterThan(20)
    expect(rows.map(({ name }) => name).toSorted()).toEqual(namesRead.toSorted())
  })

  for (const { fallback, name } of rows.filter((row) => !isUnset(row.fallback))) {
    test(`${name} is ${fallback} where nothing else is said`, () => {
      expect(comparable(settingsOf({ [name]: codeIn(fallback) ?? "" }))).toEqual(comparable(settingsOf({})))
    })
  }

  test("have no default where the table names none", () => {
    const unset = rows.filter((row) => isUnset(row.fallback)).map(({ name }) => name)
    expect(unset.toSorted()).toEqual(
      [
        "CLIENT_DOCUMENTS",
        "FETCH_ALLOW",
        "FETCH_CA",
        "METRICS",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OWNER_EMAIL",
        "OWNER_PASSWORD",
        "REGISTRATION_TOKEN",
        "RESOURCES",
        "SEAL_KEYS",
        "STORAGE_TIMEOUT",
        "TLS_CERT",
        "TLS_KEY",
        "TRUSTED_PROXIES",
        "WORKSPACES",
        "WORKSPACE_ACCESS"
      ].toSorted()
    )
    const { fetch, firstOwner, observe, sealKeys, storage, tls, trustedProxies } = settingsOf({})
    const options: ReadonlyArray<Option.Option<unknown>> = [
      firstOwner,
      observe.metrics,
      observe.otlp,
      sealKeys,
      tls,
      Option.fromUndefinedOr(storage.deadline)
    ]
    expect(options.filter(Option.isSome)).toEqual([])
    expect(trustedProxies.has("127.0.0.1")).toBe(false)
    expect([fetch.allow.size, fetch.ca]).toEqual([0, undefined])
  })

  test("take the values that the table mentions", () => {
    const mentioned = [
      { REGISTRATION: "token", REGISTRATION_TOKEN: "0123456789abcdef" },
      { REGISTRATION: "closed" },
      { REQUIRE_PKCE: "true" },
      { DPOP: "required" },
      { DPOP_NONCE: "auth" },
      { DPOP_NONCE: "all" },
      { PAR: "required" },
      { FAPI2: "required" },
      { WORKSPACE_ACCESS: "approved" },
      { WORKSPACE_ACCESS: "owner" },
      { RATE_LIMITS: "off" },
      { RATE_LIMITS: "4x" },
      { RATE_LIMITS: "0.5x" },
      { TRUSTED_PROXIES: "10.0.0.0/8, ::1" },
      { FETCH_ALLOW: "keys.internal, keys.internal:9443" },
      { REFRESH_GRACE: "0" },
      { ACCESS_LOG: "on" },
      { AUDIT: "off" },
      { AUDIT: "stdout" },
      { AUDIT: "./audit.jsonl" }
    ] as const satisfies ReadonlyArray<Environment>
    for (const environment of mentioned) {
      for (const [name, value] of Object.entries(environment)) {
        const says = rows.find((row) => row.name === name)?.says ?? ""
        expect(name === "REGISTRATION_TOKEN" || says.includes(`\`${value}\``) ? value : [name, says]).toBe(value)
      }
      expect(settingsOf(environment)).not.toEqual(settingsOf({}))
    }
  })
})

describe("the pages", () => {
  test("has the limits as the code has them", () => {
    const spoken = Object.values(allowances).map(({ burst, name, refill }) => {
      const hourly = (60 * 60 * 1000) / refill
      const rate = name === "register" ? `${hourly} an hour` : `${hourly / 60} a minute`
      return [`\`${name}\``, String(burst), rate]
    })
    const printed = tableRows("core/ports/README.md", "limit").map(([name = "", , burst = "", rate = ""]) => [
      name,
      burst,
      rate
    ])
    expect(printed.toSorted()).toEqual(spoken.toSorted())
    expect(bodyLimit).toBe(64 * 1024)
  })

  test(
    "says that a file .env is read, and that the environment goes before it",
    () =>
      scoped(function* () {
        const cwd = yield* throwawayFolder("dotenv")
        writeFileSync(join(cwd, ".env"), "PORT=nonsense\n")
        const doctor = (env: Environment) =>
          runProgram(node(), [join(house, "runtimes/tessera.mjs"), "doctor"], {
            cwd,
            env: { ...plainEnvironment, ...env }
          })
        const fromFile = yield* doctor({})
        expect(fromFile.stdout).toContain("PORT: expected")
        expect(fromFile.status).toBe(exitStatus.usage)
        expect((yield* doctor({ PORT: String(yield* freePort) })).status).toBe(exitStatus.done)
      }),
    60_000
  )
})

test("the help of `serve` names every variable", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { stdout } = yield* command(["serve", "--help"], { cwd: house })
      for (const name of namesRead) expect(stdout).toContain(name)
    })
  ))
