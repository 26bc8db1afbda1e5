import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { Storage, type StorageScan } from "../../core/ports/Storage.ts"
import { guestStorage } from "../../core/testing/play/GuestStorage.ts"
import {
  authorizeTarget,
  bearing,
  hiddenFields,
  jsonHeaders,
  jsonOf,
  redeem,
  redirectUri,
  returned,
  type TestClient,
  text,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { Browser, type House, inHouse } from "../people/House.ts"
import { type Held, load, type OlderRelease } from "./olderRelease.ts"
import { everyStore } from "./Store.ts"

const folder = join(import.meta.dir, "releases")

/** Kept as data by `writeRelease.ts`: nothing that is there ever changes. */
const releases = readdirSync(folder).map(
  (name) =>
    // Written by `writeRelease.ts`; a wrong shape fails what follows.
    [name.replace(".json", ""), JSON.parse(readFileSync(join(folder, name), "utf8")) as OlderRelease] as const
)

type Opening = Effect.Effect<
  { readonly layer: Layer.Layer<Storage | StorageScan, { readonly message: string }> },
  never,
  Scope.Scope
>

const stores: ReadonlyArray<readonly [name: string, open: Opening]> = [
  ["memory", Effect.succeed({ layer: memory })],
  ...everyStore
]

const companies = (house: House, token: string) =>
  Effect.map(house.send("GET", "/rest/companies", { headers: bearing(token) }), ({ status }) => status)

const refresh = (house: House, client: TestClient, token: string) =>
  Effect.map(tokenRequest(house, client, { grant_type: "refresh_token", refresh_token: token }), tokensOf)

const approve = Effect.fnUntraced(function* (browser: Browser, fields: Readonly<Record<string, string>>) {
  return text(
    returned(yield* browser.send("POST", "/consent", { acknowledged: "yes", ...fields, decision: "approve" })).get(
      "code"
    )
  )
})

/** All that people and applications go on with after an update. */
const goesOn = Effect.fnUntraced(function* (house: House, held: Held) {
  const browser = new Browser(house)
  for (const [name, value] of Object.entries(held.cookies)) browser.cookies.set(name, value)
  yield* TestClock.adjust("30 seconds")

  // What is under way: a code that was sent, a page that stands open.
  const redeemed = tokensOf(yield* redeem(house, held.confidential, held.code))
  const approved = tokensOf(yield* redeem(house, held.confidential, yield* approve(browser, held.consent)))
  const bearers = [held.confidentialTokens.access, held.publicTokens.access, held.machine, held.key]
  for (const token of [...bearers, redeemed.access, approved.access]) expect(yield* companies(house, token)).toBe(200)

  yield* TestClock.adjust("2 hours")
  for (const token of [held.confidentialTokens.access, held.publicTokens.access, held.machine]) {
    expect(yield* companies(house, token)).toBe(401)
  }
  expect(yield* companies(house, held.key)).toBe(200)
  const refreshed = [
    yield* refresh(house, held.confidential, held.confidentialTokens.refresh),
    yield* refresh(house, held.public, held.publicTokens.refresh),
    yield* refresh(house, held.confidential, redeemed.refresh)
  ]
  for (const { access } of refreshed) expect(yield* companies(house, access)).toBe(200)
  const machine = yield* tokenRequest(house, held.confidential, { grant_type: "client_credentials" })
  expect(yield* companies(house, text(jsonOf(machine).access_token))).toBe(200)

  const { confidential } = held
  const registration = confidential.registrationUri.slice(house.workspace.issuer.length)
  const headers = { ...bearing(confidential.registrationToken), ...jsonHeaders }
  const shown = yield* house.send("GET", registration, { headers })
  expect([shown.status, jsonOf(shown).client_name]).toEqual([200, "Northwind"])
  const renamed = { client_id: confidential.id, redirect_uris: [redirectUri], client_name: "Southwind" }
  const changed = yield* house.send("PUT", registration, { headers, body: JSON.stringify(renamed) })
  expect([changed.status, jsonOf(changed).client_name]).toEqual([200, "Southwind"])

  for (const [page, says] of [
    ["/settings/profile", held.email],
    ["/settings/members", "bob@example.com"]
  ] as const) {
    const answer = yield* browser.get(page)
    expect([answer.status, answer.body.includes(says)]).toEqual([200, true])
  }

  const elsewhere = new Browser(house, "198.51.100.7")
  expect((yield* elsewhere.signIn(held.email, held.password)).status).toBe(303)
  const page = yield* elsewhere.get(authorizeTarget(held.public))
  const anew = tokensOf(yield* redeem(house, held.public, yield* approve(elsewhere, hiddenFields(page.body))))
  expect(yield* companies(house, anew.access)).toBe(200)

  // A spent refresh token still ends its line, whichever release spent it.
  yield* TestClock.adjust("5 minutes")
  const reused = yield* tokenRequest(house, held.public, {
    grant_type: "refresh_token",
    refresh_token: held.publicTokens.refresh
  })
  expect([reused.status, jsonOf(reused).error]).toEqual([400, "invalid_grant"])
  expect(yield* companies(house, refreshed[1]?.access ?? "")).toBe(401)
  expect(house.log.filter((line) => !line.startsWith('[["refused"'))).toEqual([])
})

describe.each(releases)("a store that release %s wrote", (_release, { held, records }) => {
  test.each(stores)("goes on in this one, in %s", (_name, open) =>
    Effect.gen(function* () {
      const { layer } = yield* open
      const below = Context.get(yield* Layer.build(layer), Storage)
      const { storage } = yield* guestStorage(below, "release")
      yield* load(storage, records)
      yield* Effect.promise(() =>
        inHouse((house) => goesOn(house, held), { storage: () => storage, seed: "a later release" })
      )
    }).pipe(Effect.scoped, Effect.runPromise)
  )
})
