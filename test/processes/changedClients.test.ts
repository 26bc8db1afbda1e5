import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { type Application, clientCredentials, companies, register } from "./Application.ts"
import { field, send } from "./Reply.ts"
import { environmentOver, type ServerProcess, startTessera, tessera } from "./ServerProcess.ts"
import { everyStore } from "./Store.ts"

const machine = { grant_types: ["authorization_code", "client_credentials"] }

/** Tokens of a client, the client's record at hand in this process. */
const tokensOf = Effect.fnUntraced(function* (server: ServerProcess, application: Application) {
  const first = field(yield* clientCredentials(server, application), "access_token")
  const second = field(yield* clientCredentials(server, application), "access_token")
  for (const token of [first, second]) expect((yield* companies(server, token)).status).toBe(200)
  return [first, second] as const
})

describe("a client that another process ended is ended here with the next request that shows one of its tokens", () => {
  for (const [name, open] of everyStore) {
    test(`over ${name}`, () =>
      Effect.gen(function* () {
        const store = yield* open
        const [here, there] = yield* Effect.all([startTessera(store), startTessera(store)], { concurrency: 2 })
        const deleted = yield* register(here, machine)
        const disabled = yield* register(here, machine)
        const untouched = yield* register(here, machine)
        const tokens = yield* Effect.forEach([deleted, disabled, untouched], (one) => tokensOf(there, one))
        const [ofDeleted = [], ofDisabled = [], ofUntouched = []] = tokens

        const answer = yield* send(`${here.url}/oauth/register/${deleted.id}`, {
          method: "DELETE",
          headers: { authorization: `Bearer ${deleted.registrationToken}` }
        })
        expect(answer.status).toBe(204)
        for (const token of ofDeleted) expect((yield* companies(there, token)).status).toBe(401)
        expect((yield* clientCredentials(there, deleted)).status).toBe(401)

        expect((yield* tessera(["client", "disable", disabled.id], environmentOver(store))).status).toBe(0)
        for (const server of [there, here]) {
          for (const token of ofDisabled) expect((yield* companies(server, token)).status).toBe(401)
          expect((yield* clientCredentials(server, disabled)).status).toBe(401)
        }
        expect((yield* tessera(["client", "enable", disabled.id], environmentOver(store))).status).toBe(0)
        for (const server of [there, here]) {
          for (const token of [...ofDisabled, ...ofUntouched]) {
            expect((yield* companies(server, token)).status).toBe(200)
          }
        }
      }).pipe(Effect.scoped, Effect.runPromise))
  }
})
