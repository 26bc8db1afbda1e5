import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { createKey } from "../../core/engine/administerGrants.ts"
import { makeOnce } from "../../core/engine/Once.ts"
import { LimitSharing, layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { makeSetUpLink } from "../../core/people/firstOwner.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { allowances, Limiter } from "../../core/ports/Limiter.ts"
import { kinds, Storage, StorageScan } from "../../core/ports/Storage.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import {
  authorizeTarget,
  challenge,
  hiddenFields,
  jsonOf,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { t0 } from "../given/World.ts"
import { addAccount, Browser, type House, inHouse, password, reveal } from "../people/House.ts"
import { everyRecord, type Held, type OlderRelease } from "./olderRelease.ts"

/**
 * Writes what this release keeps, and what others hold of it, for later releases to open:
 * `bun test/processes/writeRelease.ts NAME`, once for each release that changes a stored form.
 */
const email = "ada@example.com"

/** The page of a request, answered with yes. */
const codeFor = Effect.fnUntraced(function* (browser: Browser, client: TestClient) {
  const page = yield* browser.get(authorizeTarget(client, { scope: "api profile", code_challenge: challenge }))
  const answer = yield* browser.send("POST", "/consent", { ...hiddenFields(page.body), decision: "approve" })
  return text(returned(answer).get("code"))
})

const used = Effect.fnUntraced(function* (house: House): Effect.fn.Return<Held, unknown> {
  yield* makeSetUpLink(house.accounts, house.workspace)
  yield* addAccount(house, email)
  const browser = new Browser(house)
  yield* browser.signIn(email)
  yield* browser.submit("/settings/members", {
    action: "invite",
    email: "bob@example.com",
    role: "member"
  })

  const grants = ["authorization_code", "refresh_token", "client_credentials"]
  const confidential = yield* registerClient(house, { client_name: "Northwind", grant_types: grants })
  const confidentialTokens = tokensOf(yield* redeem(house, confidential, yield* codeFor(browser, confidential)))
  const app = yield* registerClient(house, { client_name: "Notes", token_endpoint_auth_method: "none" })
  const publicTokens = tokensOf(yield* redeem(house, app, yield* codeFor(browser, app)))
  const machine = jsonOf(yield* tokenRequest(house, confidential, { grant_type: "client_credentials" }))
  const context = { workspace: house.workspace.id, requestId: "release", by: "command line" } as const
  const key = yield* createKey(house.services, context, { name: "Export", lasts: undefined })
  yield* house.send("GET", "/rest/companies", { headers: { authorization: `Bearer ${publicTokens.access}` } })
  yield* house.services.usage.flush
  yield* makeOnce(house.storage).take(
    house.workspace.id,
    "set-up",
    "a value",
    "somebody",
    later(Instant.make(t0), 1000)
  )

  const waiting = yield* browser.get(authorizeTarget(confidential))
  return {
    email,
    password,
    cookies: Object.fromEntries(browser.cookies),
    confidential,
    confidentialTokens,
    public: app,
    publicTokens,
    machine: text(machine.access_token),
    code: yield* codeFor(browser, confidential),
    consent: hiddenFields(waiting.body),
    key: reveal(key.text)
  }
})

const written = Effect.gen(function* () {
  const store = yield* Layer.build(memory)
  const storage = Context.get(store, Storage)
  const held = yield* Effect.promise(() =>
    inHouse(
      (house) =>
        Effect.gen(function* () {
          const holds = yield* used(house)
          const limits = yield* Layer.build(sharedLimits).pipe(
            Effect.provideService(Storage, storage),
            Effect.provideService(Entropy, house.services.entropy)
          )
          const limiter = Context.get(limits, Limiter)
          const key = { allowance: allowances.account, workspace: house.workspace.id, of: "ada" }
          for (let n = 0; n < allowances.account.burst; n++) yield* limiter.take(key)
          yield* Context.get(limits, LimitSharing).share
          return holds
        }).pipe(Effect.scoped),
      { storage: () => storage }
    )
  )
  const records = yield* everyRecord(Context.get(store, StorageScan).scan)
  const missing = kinds.filter((kind) => !records.some((record) => record.kind === kind))
  if (missing.length > 0) throw new Error(`nothing was kept of ${missing.join(", ")}`)
  return { records, held } satisfies OlderRelease
}).pipe(Effect.scoped)

const [name = ""] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(name)) throw new Error("say the release: 0.1.0")
const release = await Effect.runPromise(written)
writeFileSync(join(import.meta.dir, "releases", `${name}.json`), `${JSON.stringify(release, null, 2)}\n`)
