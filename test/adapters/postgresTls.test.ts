import { describe, expect, test } from "bun:test"
import { Effect, Redacted } from "effect"
import { readPostgresUrl } from "../../adapters/postgres/Options.ts"
import { postgresUrl } from "../harness/given.ts"
import { scoped } from "../harness/scoped.ts"
import { startPostgres } from "../harness/startPostgres.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"
import { meddler, openStore, record } from "./postgres/withStore.ts"
import { selfSigned } from "./selfSigned.ts"

describe("an encrypted connection", () => {
  test("is made, and checked, as sslmode says", () =>
    scoped(function* () {
      const { cert, key } = yield* selfSigned()
      const server = yield* startPostgres({ settings: { ssl: "on", ssl_cert_file: cert, ssl_key_file: key } })
      const other = yield* selfSigned()
      const look = yield* meddler(server.url)
      const connected = (host: string, parameters: string) => {
        const url = new URL(server.url)
        url.hostname = host
        url.search = `application_name=tls&${parameters}`
        return Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openStore(url.href, { startWithin: "1 hour" })
            yield* Effect.ignore(store.insert(record("a")))
            const rows = yield* look.say(
              "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'tls'"
            )
            return rows.map(({ ssl }) => ssl)
          })
        ).pipe(Effect.catch(({ _tag }) => Effect.succeed(_tag)))
      }
      expect(yield* connected("127.0.0.1", "sslmode=disable")).toEqual([false])
      expect(yield* connected("127.0.0.1", "")).toEqual([true])
      expect(yield* connected("127.0.0.1", "sslmode=require")).toEqual([true])
      expect(yield* connected("127.0.0.1", `sslmode=require&sslrootcert=${other.cert}`)).toBe("PostgresUnreachable")
      expect(yield* connected("localhost", "sslmode=verify-full")).toBe("PostgresUnreachable")
      expect(yield* connected("localhost", `sslmode=verify-full&sslrootcert=${other.cert}`)).toBe("PostgresUnreachable")
      expect(yield* connected("127.0.0.1", `sslmode=verify-full&sslrootcert=${cert}`)).toBe("PostgresUnreachable")
      expect(yield* connected("127.0.0.1", `sslmode=verify-ca&sslrootcert=${other.cert}`)).toBe("PostgresUnreachable")
      expect(yield* connected("127.0.0.1", `sslmode=verify-ca&sslrootcert=${cert}`)).toEqual([true])
      expect(yield* connected("localhost", `sslmode=verify-full&sslrootcert=${cert}`)).toEqual([true])
    }))

  test("is not given up where the server has none to offer", () =>
    scoped(function* () {
      const { url } = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
      const refusal = yield* Effect.flip(openStore(`${url}?sslmode=require`, { startWithin: "900 millis" }))
      expect([refusal._tag, refusal.message]).toEqual(["PostgresUnreachable", expect.stringContaining("sslmode")])
      yield* openStore(`${url}?sslmode=prefer`)
    }))
})

describe("an address", () => {
  const read = (url: string) => Effect.runPromise(Effect.result(readPostgresUrl(Redacted.make(url))))

  test.each([
    ["nonsense", "is not a URL"],
    ["mysql://u:sesame@h/d", "does not start with postgres://"],
    ["postgres://u:sesame@h/d?sslmod=require", "has the unknown parameter sslmod"],
    ["postgres://u:1234?sesame@h/d", "has an unknown parameter: write %3F for a ? in the password"],
    [
      "postgres://u:sesame@h/d?sslmode=on",
      "has a parameter sslmode that is not disable or allow or prefer or require or verify-ca or verify-full"
    ],
    ["postgres://u:sesame%@h/d", "has a % that is not followed by two hexadecimal digits"],
    ["postgres://u:sesame@h/d#x", "has a #: write %23 for one in the password"],
    [
      "postgres://u:sesame@h/d?sslmode=verify-full&sslrootcert=/nowhere.pem",
      "names a file as sslrootcert that cannot be read"
    ]
  ])("that is wrong is refused by what is wrong, never repeated: %s", async (url, message) => {
    expect(await read(url)).toMatchObject({ _tag: "Failure", failure: { _tag: "BadPostgresUrl", message } })
  })

  test("is read as libpq reads it", async () => {
    expect(
      await read("postgresql://u%40x:p%2F%3A@[::1]:6543/my%20db?application_name=me&sslmode=disable")
    ).toMatchObject({
      success: {
        host: "::1",
        port: 6543,
        path: undefined,
        database: "my db",
        user: "u@x",
        tls: false,
        applicationName: "me"
      }
    })
    expect(await read("postgres:///d?host=/run/postgresql&user=u")).toMatchObject({
      success: { path: "/run/postgresql/.s.PGSQL.5432", database: "d", user: "u", tls: false }
    })
  })
})
