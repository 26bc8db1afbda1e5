import { expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { kinds, StorageScan } from "../../core/ports/Storage.ts"
import { type Dice, makeDice, seedOfRun } from "../../core/testing/Dice.ts"
import { scriptOf } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { perform } from "../../core/testing/play/perform.ts"
import { headersOf } from "../../core/testing/play/requestOf.ts"
import { patience, runs, seed } from "./runs.ts"
import { runsIn, secretsHandedOver, spellings, withoutHandedOver } from "./secrets.ts"

interface Exchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
}

/** Secrets where they do not belong: an endpoint may refuse them, but neither repeat nor note them. */
const misplaced = (dice: Dice, secret: string): ReadonlyArray<HttpRequest> => {
  const request = (
    method: string,
    path: string,
    more: { query?: string; body?: string; bearer?: string } = {}
  ): HttpRequest => ({
    method,
    path,
    query: more.query ?? "",
    headers: headersOf([
      ["host", "one.example"],
      ["content-type", "application/x-www-form-urlencoded"],
      ...(more.bearer === undefined ? [] : [["authorization", more.bearer] as const])
    ]),
    body: more.body ?? ""
  })
  const field = dice.pick([
    "grant_type",
    "client_id",
    "code",
    "scope",
    "redirect_uri",
    "resource",
    secret,
    "token_type_hint"
  ])
  const body = new URLSearchParams([[field, secret]]).toString()
  return [
    request("POST", dice.pick(["/oauth/token", "/oauth/revoke", "/oauth/introspect"]), { body }),
    request("POST", "/oauth/token", {
      body: `grant_type=authorization_code&code=${secret}`,
      bearer: `Basic ${btoa(`${secret}:${secret}`)}`
    }),
    // Not as client_id or redirect_uri: the page about them shows the person what was sent.
    request("GET", "/oauth/authorize", {
      query: new URLSearchParams({ client_id: "nobody", [secret]: secret, scope: secret }).toString()
    }),
    request("GET", `/oauth/register/${secret}`, { bearer: `Bearer ${secret}` }),
    request("POST", "/oauth/register", { body: JSON.stringify({ redirect_uris: [secret] }) }),
    request("GET", "/rest/companies", { bearer: `Bearer ${secret}x` }),
    request("POST", "/consent", {
      body: new URLSearchParams({ csrf: secret, ticket: secret, decision: "approve" }).toString()
    }),
    request("GET", `/${secret}`)
  ]
}

/** Everything that the core said or kept while a script was played, and every secret that it handed out. */
const overheard = Effect.fnUntraced(function* (own: number) {
  const { world, script } = scriptOf(own, 20)
  const dice = makeDice(own)
  const process = yield* inProcess(world)
  const exchanges: Array<Exchange> = []
  const request = (asked: HttpRequest) =>
    Effect.tap(process.system.request(asked), (response) =>
      Effect.sync(() => exchanges.push({ request: asked, response }))
    )
  yield* perform(world, script, playOver({ ...process.system, request }, world, script))

  const secrets = new Set(exchanges.flatMap(({ request, response }) => [...secretsHandedOver(request, response)]))
  for (const secret of [...secrets].slice(-3)) for (const asked of misplaced(dice, secret)) yield* request(asked)

  const stored: Array<string> = []
  const scan = yield* StorageScan
  for (const kind of kinds) {
    let after: string | undefined
    do {
      const page = yield* scan.scan(kind, after, 100)
      stored.push(...page.records.map((record) => JSON.stringify(record)))
      after = page.next
    } while (after !== undefined)
  }
  return {
    secrets,
    keys: process.keys(),
    said: [
      ...exchanges.map(({ request, response }) => withoutHandedOver(request, response)),
      ...process.log,
      ...process.audit.map((entry) => JSON.stringify(entry))
    ],
    stored
  }
})

test(
  "no answer, log entry, audit event, error or record holds a secret but the one it is meant to hand over",
  async () => {
    let looked = 0
    for (let run = 0; run < runs; run++) {
      const own = seedOfRun(seed, run)
      const { secrets, keys, said, stored } = await Effect.runPromise(
        overheard(own).pipe(Effect.orDie, Effect.provide(Memory.layer, { local: true }))
      )
      const told = runsIn(said)
      const kept = runsIn(stored)
      for (const needle of spellings(secrets, keys)) {
        looked += 1
        for (const [where, hay] of [
          ["said", told],
          ["stored", needle.mayBeStored ? "" : kept]
        ] as const) {
          const at = hay.indexOf(needle.text)
          if (at >= 0) {
            throw new Error(
              `See it again with TESSERA_SEED=${own} TESSERA_RUNS=1\n${needle.what} was ${where}: ${hay.slice(Math.max(0, at - 200), at + 200)}`
            )
          }
        }
      }
    }
    expect(looked).toBeGreaterThan(runs * 20)
  },
  patience
)
