import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { pollUntil } from "../harness/pollUntil.ts"
import { makeBrowser } from "./Browser.ts"
import { type ServerProcess, startTessera } from "./ServerProcess.ts"
import { everyStore } from "./Store.ts"

const guess = Effect.fnUntraced(function* (server: ServerProcess) {
  const browser = makeBrowser()
  const page = yield* browser.open(server, "/login")
  return yield* browser.submit(server, "/login", page, { email: "ada@example.com", password: "it is none of these" })
})

/** A process without news of others asks for so long a wait after seven failures of its own. */
const seconds = 4
const failures = 7

describe("wrong passwords at several processes", () => {
  for (const [name, open] of everyStore) {
    test(
      `over ${name} wait as long as at one`,
      () =>
        Effect.gen(function* () {
          const store = yield* open
          const servers = yield* Effect.all([
            startTessera(store, { RATE_LIMITS: "on" }),
            startTessera(store, { RATE_LIMITS: "on" })
          ])
          const [first, last] = servers
          for (let count = 0; count < 5; count++) expect((yield* guess(first)).status).toBe(403)
          let passed = 0
          const waitsLonger = Effect.map(guess(last), ({ headers, status }) => {
            if (status === 403) passed++
            return status === 429 && Number(headers.get("retry-after")) >= seconds
          })
          expect(yield* pollUntil(waitsLonger, 30_000)).toBe(true)
          expect(passed).toBeLessThan(failures)
        }).pipe(Effect.scoped, Effect.runPromise),
      60_000
    )
  }
})
