import { describe, expect, test } from "bun:test"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import * as sqlite from "../../adapters/sqlite/Sqlite.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { type EmbeddedTessera, SecretRefused } from "../../runtimes/tessera.ts"
import { bearer, issuer, letIn, letInAs, machine, redirectUri, testClock, withHost } from "./host.ts"

const needs = { scopes: ["api"] }
const orders = `${issuer}/orders`

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => "it did not fail",
    (error) => error
  )

describe("clients", () => {
  test("are registered with a secret that is shown once, found, listed page by page", () =>
    withHost({}, async ({ clients }) => {
      const made = await clients.register({ client_name: "App", redirect_uris: [redirectUri], scope: "api" })
      expect(made.secret).toStartWith("tsr_cs_")
      expect(made.client).toMatchObject({
        name: "App",
        redirectUris: [redirectUri],
        grantTypes: ["authorization_code", "refresh_token"],
        authMethod: "client_secret_basic",
        scopes: ["api"],
        madeBy: "owner",
        disabled: false,
        lastUsedAt: undefined
      })
      expect(made.client.createdAt).toBeInstanceOf(Date)
      const open = { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" as const }
      for (const scope of ["aip", "api nonsense", " "]) {
        await expect(clients.register({ ...open, scope })).rejects.toMatchObject({ _tag: "InvalidClientMetadata" })
      }
      const unnamed = await clients.register(open)
      expect(unnamed.secret).toBeUndefined()
      expect(unnamed.client.name).toBe(unnamed.client.id)
      expect(await clients.get(made.client.id)).toEqual(made.client)
      const first = await clients.list({ limit: 1 })
      const second = await clients.list({ limit: 1, after: first.next })
      const ids = [...first.items, ...second.items].map(({ id }) => id)
      expect(ids).toEqual([made.client.id, unnamed.client.id].toSorted())
      expect(JSON.stringify(await clients.list())).not.toContain(made.secret ?? "nothing")
    }))

  test("have another secret beside the present one for as long as it is kept", () =>
    withHost({}, async ({ clients }) => {
      const { client, secret } = await clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      expect(client.secrets).toHaveLength(1)
      const second = await clients.newSecret(client.id, { keepFor: 86_400_000 })
      expect(second).toStartWith("tsr_cs_")
      expect(second).not.toBe(secret)
      const [newer, older] = (await clients.get(client.id))?.secrets ?? []
      expect([newer?.until, older?.until]).toEqual([undefined, expect.any(Date)])
      await expect(clients.newSecret(client.id)).rejects.toBeInstanceOf(SecretRefused)
      expect(await clients.dropSecret(client.id)).toBe(true)
      expect((await clients.get(client.id))?.secrets).toEqual([{ mark: newer?.mark ?? "", until: undefined }])
      await clients.newSecret(client.id, { keepFor: 86_400_000 })
      expect(await clients.dropSecret(client.id, "newer")).toBe(true)
      expect((await clients.get(client.id))?.secrets).toEqual([{ mark: newer?.mark ?? "", until: undefined }])
      type Which = Parameters<typeof clients.dropSecret>[1]
      for (const which of ["oldest", "", null, {}]) {
        expect(await failure(clients.dropSecret(client.id, which as Which))).toMatchObject({ _tag: "BadOption" })
      }
      expect([await clients.newSecret("nobody"), await clients.dropSecret("nobody")]).toEqual([undefined, false])
    }))

  test("keep their secret where another is asked for in words that are none", () =>
    withHost({}, async ({ clients }) => {
      const { client } = await clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      type Asked = Parameters<typeof clients.newSecret>[1]
      for (const [option, asked] of [
        ["clients.newSecret keep", { keep: 1000 }],
        ["clients.newSecret", "7 days"],
        ["clients.newSecret", null],
        ...["7 days", Number.NaN, -1, Number.POSITIVE_INFINITY, 91 * 86_400_000].map(
          (keepFor) => ["clients.newSecret keepFor", { keepFor }] as const
        )
      ] as const) {
        // What JavaScript lets through.
        expect(await failure(clients.newSecret(client.id, asked as Asked))).toMatchObject({ _tag: "BadOption", option })
      }
      expect((await clients.get(client.id))?.secrets).toEqual([...client.secrets])
    }))

  test("have one secret again once the older one has ended", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock, housekeeping: false }, async ({ clients }) => {
      const { client } = await clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      await clients.newSecret(client.id, { keepFor: 86_400_000 })
      await wait(86_399_999)
      expect((await clients.get(client.id))?.secrets).toHaveLength(2)
      await wait(1)
      expect((await clients.get(client.id))?.secrets).toHaveLength(1)
    })
  })

  test("are shown as they are, whatever was made of what was shown", () =>
    withHost({ storage: layerAtOnce }, async (auth) => {
      const { client } = await letIn(auth, "ada")
      const before = structuredClone(client)
      const shown = [client, await auth.clients.get(client.id), ...(await auth.clients.list()).items]
      for (const one of shown) {
        expect(one).toMatchObject({
          redirectUris: [redirectUri],
          scopes: ["api", "profile", "openid", "email", "address", "phone"]
        })
        for (const list of [one?.redirectUris, one?.grantTypes, one?.scopes]) Object.assign(list ?? [], ["changed"])
        expect(await auth.clients.get(client.id)).toMatchObject({ ...before, lastUsedAt: expect.any(Date) })
      }
      for (let times = 0; times < 2; times++) {
        const [grant] = (await auth.grants.list("ada")).items
        expect(grant?.scopes).toEqual(["api"])
        Object.assign(grant?.scopes ?? [], ["changed"])
      }
    }))

  test("that registered themselves and never came back are known no longer", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock, housekeeping: false }, async (auth) => {
      const answer = await auth.handle(
        new Request(`${issuer}/oauth/register`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ redirect_uris: [redirectUri] })
        })
      )
      expect(answer.status).toBe(201)
      const [client] = (await auth.clients.list()).items
      expect(client).toMatchObject({ madeBy: "itself" })
      await wait(31 * 24 * 60 * 60_000)
      expect((await auth.clients.list()).items).toEqual([])
      expect(await auth.clients.get(client?.id ?? "")).toBeUndefined()
    })
  })

  test("that the endpoint would refuse are refused, by a tagged error", () =>
    withHost({}, async ({ clients }) => {
      const bad = await failure(clients.register({ redirect_uris: ["javascript:alert(1)"] }))
      expect(bad).toMatchObject({ _tag: "InvalidRedirectUri" })
      const none = await failure(clients.register({ grant_types: ["password"] }))
      expect(none).toMatchObject({ _tag: "InvalidClientMetadata" })
    }))

  test("that are disabled, or deleted, have no token that works", () =>
    withHost({}, async (auth) => {
      const { client, token } = await machine(auth)
      const access = await token()
      const admitted = async () => (await auth.guard(bearer(orders, access), needs))._tag
      expect(await admitted()).toBe("Admitted")
      expect(await auth.clients.disable(client.id)).toBe(true)
      expect(await admitted()).toBe("Refused")
      expect((await auth.clients.get(client.id))?.disabled).toBe(true)
      expect(await auth.clients.enable(client.id)).toBe(true)
      expect(await admitted()).toBe("Admitted")
      expect(await auth.clients.delete(client.id)).toBe(true)
      expect(await admitted()).toBe("Refused")
      for (const gone of [client.id, "no id at all"]) {
        expect(await auth.clients.get(gone)).toBeUndefined()
        expect(await auth.clients.disable(gone)).toBe(false)
        expect(await auth.clients.enable(gone)).toBe(false)
        expect(await auth.clients.delete(gone)).toBe(false)
      }
    }))
})

describe("API keys", () => {
  test("are shown once, work, are listed without the key, and end at once", () =>
    withHost({}, async (auth) => {
      const made = await auth.apiKeys.create({ name: "Backup" })
      expect(made).toMatchObject({ name: "Backup", expiresAt: undefined })
      expect(made.key).toStartWith(made.prefix)
      const checked = await auth.guard(bearer(orders, made.key), needs)
      expect(checked).toMatchObject({
        _tag: "Admitted",
        principal: { _tag: "ApiKey", issuer, scope: ["api", "profile"] }
      })
      const { items } = await auth.apiKeys.list()
      expect(items).toHaveLength(1)
      expect(items[0]).toMatchObject({ id: made.id, name: "Backup" })
      expect(items[0]?.lastUsedAt).toBeInstanceOf(Date)
      expect(JSON.stringify(items)).not.toContain(made.key)
      expect(await auth.apiKeys.revoke(made.id)).toBe(true)
      expect((await auth.guard(bearer(orders, made.key), needs))._tag).toBe("Refused")
      expect(await auth.apiKeys.revoke(made.id)).toBe(false)
      expect(await auth.apiKeys.revoke("none")).toBe(false)
      expect((await auth.apiKeys.list()).items).toEqual([])
    }))

  test("end when they say", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock }, async (auth) => {
      const { key } = await auth.apiKeys.create({ name: "Short", expiresIn: "1 minute" })
      await wait(59_999)
      expect((await auth.guard(bearer(orders, key), needs))._tag).toBe("Admitted")
      expect((await auth.apiKeys.list()).items).toHaveLength(1)
      await wait(1)
      expect((await auth.guard(bearer(orders, key), needs))._tag).toBe("Refused")
      expect((await auth.apiKeys.list()).items).toEqual([])
    })
  })

  test("make room for a new one that lasts as long", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock }, async (auth) => {
      const old = await auth.apiKeys.create({ name: "Backup", expiresIn: "2 minutes" })
      await wait(60_000)
      const made = await auth.apiKeys.rotate(old.id)
      expect(made).toMatchObject({ name: "Backup", expiresAt: new Date(clock.currentTimeMillisUnsafe() + 120_000) })
      const works = async (key: string) => (await auth.guard(bearer(orders, key), needs))._tag === "Admitted"
      expect(await Promise.all([works(old.key), works(made?.key ?? "")])).toEqual([false, true])
      expect((await auth.apiKeys.list()).items.map(({ id }) => id)).toEqual([made?.id ?? ""])
      expect(await auth.apiKeys.rotate(old.id)).toBeUndefined()
      expect(await auth.apiKeys.rotate("none")).toBeUndefined()
    })
  })

  test("are refused where they cannot be", () =>
    withHost({}, async ({ apiKeys }) => {
      for (const asked of [
        { name: " " },
        { name: "\u200b\u2060" },
        { name: "a".repeat(101) },
        { name: "a", expiresIn: 0 },
        { name: "a", scopes: [] },
        { name: "a", scopes: ["api", "unheard"] },
        { name: "a", scopes: "api" as unknown as Array<string> },
        { name: "a", scopes: ["api"], introspectOnly: true },
        { name: "a", introspectOnly: "yes" as unknown as boolean },
        { name: "a", expiresIn: Number.POSITIVE_INFINITY },
        { name: "a", expiresIn: "6000 weeks" as const }
      ]) {
        const refused = await failure(apiKeys.create(asked))
        expect(refused).toMatchObject({
          _tag: "BadOption",
          message: expect.stringMatching(/^apiKeys\.create (?:name|expiresIn|scopes) has to be /)
        })
      }
    }))

  test("are refused where a name is misspelt: without scopes they open everything, and without an end they stay", () =>
    withHost({}, async ({ apiKeys }) => {
      type Asked = Parameters<typeof apiKeys.create>[0]
      const rows: ReadonlyArray<readonly [option: string, asked: unknown]> = [
        ["apiKeys.create scope", { name: "a", scope: ["api"] }],
        ["apiKeys.create expires", { name: "a", expires: "90 days" }],
        ["apiKeys.create", undefined]
      ]
      for (const [option, asked] of rows) {
        // What JavaScript lets through.
        expect(await failure(apiKeys.create(asked as Asked))).toMatchObject({ _tag: "BadOption", option })
      }
      expect((await apiKeys.list()).items).toEqual([])
    }))

  test("are called what a list can show", () =>
    withHost({}, async ({ apiKeys }) => {
      const made = await apiKeys.create({ name: " Night\u202ely\nexport " })
      expect(made.name).toBe("Night ly export")
      // And by what their owner knows them again.
      expect(made.key).toStartWith(made.prefix)
      expect((await apiKeys.list()).items.map(({ prefix }) => prefix)).toEqual([made.prefix])
      expect(made.prefix.length).toBeWithin(8, 16)
    }))

  test("are none where their id is none, as a host's table may say it", () =>
    withHost({}, async ({ apiKeys, grants }) => {
      // What JavaScript lets through.
      for (const id of [null, undefined, 5, ["12345678"]] as ReadonlyArray<unknown> as ReadonlyArray<string>) {
        expect([await apiKeys.rotate(id), await apiKeys.revoke(id), await grants.revoke("ada", id)]).toEqual([
          undefined,
          false,
          false
        ])
      }
    }))

  test("come page by page", () =>
    withHost({}, async ({ apiKeys }) => {
      for (const name of ["a", "b", "c"]) await apiKeys.create({ name })
      const names: Array<string> = []
      let after: string | undefined
      do {
        const page = await apiKeys.list({ limit: 1, after })
        names.push(...page.items.map(({ name }) => name))
        after = page.next
      } while (after !== undefined)
      expect(names.toSorted()).toEqual(["a", "b", "c"])
    }))
})

describe("grants", () => {
  test("are a person's own: listed with their applications, revoked one by one or all at once", () =>
    withHost({}, async (auth) => {
      const first = await letIn(auth, "ada")
      const second = await letIn(auth, "ada", "api profile")
      const others = await letIn(auth, "bob")
      const works = async (access: string) => (await auth.guard(bearer(orders, access), needs))._tag === "Admitted"
      const { items } = await auth.grants.list("ada")
      expect(items.map(({ client, scopes }) => [client.id, ...scopes]).toSorted()).toEqual(
        [
          [first.client.id, "api"],
          [second.client.id, "api", "profile"]
        ].toSorted()
      )
      const mine = items.find(({ client }) => client.id === first.client.id)
      // Another person's list does not hold it.
      expect(await auth.grants.revoke("bob", mine?.id ?? "")).toBe(false)
      expect(await works(first.access)).toBe(true)
      expect(await auth.grants.revoke("ada", mine?.id ?? "")).toBe(true)
      expect(await works(first.access)).toBe(false)
      expect(await works(second.access)).toBe(true)
      expect(await auth.grants.revoke("ada", mine?.id ?? "")).toBe(false)
      expect(await auth.grants.revokeAll("ada")).toBe(1)
      expect(await auth.grants.revokeAll("ada")).toBe(0)
      expect(await works(second.access)).toBe(false)
      expect(await works(others.access)).toBe(true)
      expect((await auth.grants.list("ada")).items).toEqual([])
      expect((await auth.grants.list("nobody here")).items).toEqual([])
    }))

  test("of one application are one: all that they let it do, since the first, last used when any was", async () => {
    const { clock, wait } = await testClock()
    await withHost({ clock, housekeeping: false }, async (auth) => {
      const app = await auth.clients.register({
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "client_secret_post"
      })
      const began = clock.currentTimeMillisUnsafe()
      const { access } = await letInAs(auth, "ada", app)
      await wait(120_000)
      const more = await letInAs(auth, "ada", app, "profile", { resource: issuer })
      const admitted = async (token: string, scope: string) =>
        (await auth.guard(bearer(orders, token), { scopes: [scope] }))._tag === "Admitted"
      expect(await admitted(more.access, "profile")).toBe(true)
      await wait(120_000)
      expect(await admitted(access, "api")).toBe(true)
      const { items } = await auth.grants.list("ada")
      expect(items.map(({ scopes, ...rest }) => ({ ...rest, scopes: scopes.toSorted() }))).toEqual([
        {
          id: expect.any(String),
          client: { id: app.client.id, name: app.client.id },
          scopes: ["api", "profile"],
          resources: null,
          createdAt: new Date(began),
          lastUsedAt: new Date(began + 240_000)
        }
      ])
      // They end as one, too.
      expect(await auth.grants.revoke("ada", items[0]?.id ?? "")).toBe(true)
      expect([await admitted(access, "api"), await admitted(more.access, "profile")]).toEqual([false, false])
    })
  })

  test("that were revoked on the way are no reason to miss the others: a page says what follows", () =>
    withHost({}, async (auth) => {
      for (let count = 0; count < 3; count++) await letIn(auth, "ada")
      const [one] = (await auth.grants.list("ada")).items
      await auth.grants.revoke("ada", one?.id ?? "")
      let found = 0
      let after: string | undefined
      do {
        const page = await auth.grants.list("ada", { limit: 1, after })
        found += page.items.length
        after = page.next
      } while (after !== undefined)
      expect(found).toBe(2)
    }))

  test("have no id that opens anything", () =>
    withHost({}, async (auth) => {
      const { access } = await letIn(auth, "ada")
      const checked = await auth.guard(bearer(orders, access), needs)
      if (checked._tag === "Refused") throw new Error("it was refused")
      expect(Object.keys(checked.principal).toSorted()).toEqual([
        "_tag",
        "client",
        "expiresAt",
        "grant",
        "issuer",
        "resources",
        "scope",
        "user"
      ])
      const [grant] = (await auth.grants.list("ada")).items
      expect(grant?.id).toHaveLength(8)
      expect(checked.principal.grant).toBe(grant?.id ?? "")
    }))
})

test("all of a person's grants are revoked, however few the store gives at a time", async () => {
  const kept = await Effect.runPromise(Effect.provide(Storage, memory.layer))
  const list: Storage["Service"]["list"] = (listing) => kept.list({ ...listing, limit: Math.min(2, listing.limit) })
  await withHost({ storage: { ...kept, list } }, async (auth) => {
    const tokens: Array<string> = []
    for (let count = 0; count < 5; count++) tokens.push((await letIn(auth, "ada")).access)
    expect(await auth.grants.revokeAll("ada")).toBe(5)
    for (const token of tokens) expect((await auth.guard(bearer(orders, token), needs))._tag).toBe("Refused")
  })
})

describe("a page of a list", () => {
  type Paging = Parameters<EmbeddedTessera["clients"]["list"]>[0]
  test("lets a client exchange the tokens that an API is sent, or says why it cannot", () =>
    withHost({}, async ({ clients }) => {
      const { client } = await clients.register({ redirect_uris: [redirectUri] })
      const open = await clients.register({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })
      expect(await clients.allowExchange(client.id, issuer)).toBe(true)
      expect((await clients.get(client.id))?.serves).toBe(issuer)
      const contacts = Array(3).fill("x".repeat(2000))
      const wordy = await clients.register({ redirect_uris: [redirectUri], contacts })
      for (const [id, resource] of [
        [client.id, "https://evil.example"],
        [open.client.id, issuer],
        [wordy.client.id, `${issuer}/${"a".repeat(1500)}`]
      ] as const) {
        expect(await failure(clients.allowExchange(id, resource))).toMatchObject({ _tag: "BadOption" })
      }
      expect(await clients.endExchange(client.id)).toBe(true)
      expect((await clients.get(client.id))?.serves).toBeUndefined()
      expect([await clients.allowExchange("nobody", issuer), await clients.endExchange("nobody")]).toEqual([
        false,
        false
      ])
    }))

  test("takes issuers that it can trust, and says of others what is wrong", async () => {
    const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }
    const good = { issuer: "https://login.acme.example", jwks: { keys: [key] }, domains: ["ACME.example"] }
    await withHost(
      { trustedIssuers: [good, { issuer: "https://idp.example", jwksUri: "https://idp.example/k" }] },
      () => Promise.resolve()
    )
    for (const [option, trustedIssuers] of [
      ["trustedIssuers[0]", [{ ...good, issuer: "login" }]],
      ["trustedIssuers[0]", [{ issuer: good.issuer }]],
      ["trustedIssuers[0]", [{ ...good, scopes: ["root"] }]],
      ["trustedIssuers[1]", [good, good]],
      // A name that the types do not have.
      ["trustedIssuers[0].keys", [{ ...good, ...{ keys: [] } }]]
    ] as const) {
      expect(await failure(withHost({ trustedIssuers: [...trustedIssuers] }, () => Promise.resolve()))).toMatchObject({
        option
      })
    }
  })

  const stores = {
    memory: () => memory.layer,
    SQLite: () => sqlite.layer({ path: join(mkdtempSync(join(tmpdir(), "pages-")), "tessera.db") })
  }

  for (const [name, storage] of Object.entries(stores)) {
    test(`is refused where its limit or its start is none, and bounded where it is much, over ${name}`, () =>
      withHost({ storage: storage(), rateLimits: false }, async (auth) => {
        const { clients } = auth
        for (let made = 0; made < 3; made++) await clients.register({ redirect_uris: [redirectUri] })
        const lists: Readonly<Record<string, (paging: Paging) => Promise<unknown>>> = {
          "clients.list": (paging) => clients.list(paging),
          "apiKeys.list": (paging) => auth.apiKeys.list(paging),
          "grants.list": (paging) => auth.grants.list("ada", paging)
        }
        for (const [method, list] of Object.entries(lists)) {
          for (const [option, paging] of [
            ["limit", { limit: Number.NaN }],
            ["limit", { limit: "many" }],
            ["after", { after: 5 }]
          ] as const) {
            // What JavaScript lets through.
            const refused = await failure(list(paging as Paging))
            expect(refused).toMatchObject({
              _tag: "BadOption",
              option: `${method} ${option}`,
              message: expect.stringMatching(new RegExp(`^${method} ${option} has to be `))
            })
          }
          const misspelt = { afer: "the next of a page" } as Paging
          expect(await failure(list(misspelt))).toMatchObject({ _tag: "BadOption", option: `${method} afer` })
        }
        // JavaScript lets this through as well.
        const none = { limit: null, after: null } as unknown as Paging
        for (const paging of [none, null as unknown as Paging, { limit: Number.POSITIVE_INFINITY }, {}]) {
          expect((await clients.list(paging)).items).toHaveLength(3)
        }
        for (const limit of [-1, 0, 1.9]) expect((await clients.list({ limit })).items).toHaveLength(1)
      }))
  }
})
