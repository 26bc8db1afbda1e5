import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Redacted } from "effect"
import { migrate } from "../../adapters/postgres/migrate.ts"
import { type Migration, migrations } from "../../adapters/postgres/migrations.ts"
import { grantKind } from "../../core/engine/Records.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { tell } from "../adapters/postgres/freshDatabase.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { companies, redeem, register } from "./Application.ts"
import { makeLoad } from "./Load.ts"
import { openMint } from "./Mint.ts"
import { field } from "./Reply.ts"
import { environmentOver, startTessera, tessera } from "./ServerProcess.ts"
import { postgresStore } from "./Store.ts"

/** What a release that is still to come does at its start. */
const later = (number: number, readableFrom: number): Migration => ({
  number,
  name: `step ${number} of a later release`,
  readableFrom,
  statements: (schema) => [
    `ALTER TABLE "${schema}".grants ADD COLUMN IF NOT EXISTS label_${number} text`,
    `ALTER TABLE "${schema}".clients ADD COLUMN IF NOT EXISTS label_${number} text`,
    `CREATE INDEX IF NOT EXISTS grants_by_label_${number} ON "${schema}".grants (workspace, label_${number})`
  ]
})

describe("old and new releases on one database", () => {
  test("a later one adds a column under a server that is at work, and beside one that starts: no client notices", () =>
    Effect.gen(function* () {
      const store = yield* postgresStore
      const options = { url: Redacted.make(store.databaseUrl) }
      const first = yield* startTessera(store)
      const application = yield* register(first)
      const mint = yield* openMint(store)
      const codes = yield* Effect.forEach(Array(100), () => mint.code(application), { concurrency: 16 })
      const load = makeLoad([first], application, codes, false)
      const running = yield* Effect.forkChild(load.run)
      const progress = Effect.fnUntraced(function* (more: number) {
        const enough = load.acknowledged() + more
        expect(
          yield* pollUntil(
            Effect.sync(() => load.acknowledged() >= enough),
            60_000
          )
        ).toBe(true)
      })

      yield* progress(50)
      const known = [...migrations, later(1000, 1)]
      expect(yield* migrate(options, known)).toEqual(["step 1000 of a later release"])
      yield* progress(50)
      const second = yield* startTessera(store)
      yield* progress(50)
      load.stop()
      yield* Fiber.join(running)
      yield* load.audit
      expect(load.complaints()).toEqual([])

      const tokens = yield* redeem(second, application, yield* mint.code(application))
      expect((yield* companies(first, field(tokens, "access_token"))).status).toBe(200)

      // One that the present release can't follow keeps it from starting, and leaves alone who is at work.
      yield* migrate(options, [...known, later(1001, 1001)])
      const refused = yield* tessera(["serve"], environmentOver(store))
      expect(refused.status).toBe(1)
      expect(refused.stderr).toContain("1001")
      expect((yield* companies(first, field(tokens, "access_token"))).status).toBe(200)
    }).pipe(Effect.scoped, Effect.runPromise))

  test("a record in a form of a later release is not guessed at: 503, and nothing is changed", () =>
    Effect.gen(function* () {
      const store = yield* postgresStore
      const server = yield* startTessera(store)
      const application = yield* register(server)
      const mint = yield* openMint(store)
      const code = yield* mint.code(application)
      const tokens = yield* redeem(server, application, yield* mint.code(application))
      const ours = grantKind(standardPolicy).version
      const change = (version: number) =>
        `UPDATE tessera.grants SET body = jsonb_set(body, '{_v}', '${version}'), version = version + 1 WHERE owner <> 'clients'`

      yield* tell(store.databaseUrl, change(99))
      for (const reply of [
        yield* companies(server, field(tokens, "access_token")),
        yield* redeem(server, application, code)
      ]) {
        expect({ status: reply.status, retry: reply.headers.has("retry-after") }).toEqual({ status: 503, retry: true })
      }
      const explained = Effect.sync(() => server.log().includes(`has version 99; this release reads up to ${ours}`))
      expect(yield* pollUntil(explained, 5000)).toBe(true)

      yield* tell(store.databaseUrl, change(ours))
      expect((yield* companies(server, field(tokens, "access_token"))).status).toBe(200)
      expect((yield* redeem(server, application, code)).status).toBe(200)
    }).pipe(Effect.scoped, Effect.runPromise))
})
