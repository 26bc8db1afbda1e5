import { describe, expect, spyOn, test } from "bun:test"
import { inspect } from "node:util"
import { Context, Duration, Effect, Layer } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { signsFor } from "../../core/engine/signingKeys.ts"
import { Storage, type StorageScan } from "../../core/ports/Storage.ts"
import {
  BadOption,
  createTessera,
  type HostingOptions,
  type HostingTessera,
  type WorkspaceOption
} from "../../runtimes/tessera.ts"
import { bearer, letIn, machine, options, people, testClock } from "./host.ts"

const acme: WorkspaceOption = { id: "acme", issuer: "https://acme.example", name: "Acme", theme: { accent: "#b4451f" } }
const beta: WorkspaceOption = { id: "beta", issuer: "https://id.example/beta" }
const root: WorkspaceOption = { id: "root", issuer: "https://id.example" }

const { issuer: _, ...shared } = options()

const hosting = (workspaces: HostingOptions["workspaces"], over: Partial<HostingOptions> = {}) =>
  createTessera({ ...shared, workspaces, ...over })

const withHosting = async (
  workspaces: HostingOptions["workspaces"],
  body: (auth: HostingTessera) => Promise<void>,
  over: Partial<HostingOptions> = {}
) => {
  const auth = hosting(workspaces, over)
  try {
    await body(auth)
  } finally {
    await auth.close()
  }
}

/** One of them, as a host of that one alone would have it. */
const oneOf = (auth: HostingTessera, which: string | WorkspaceOption) => ({ ...auth, prefix: "", ...auth.for(which) })

const document = "/.well-known/oauth-authorization-server"
const issuerAt = async (auth: HostingTessera, url: string) => {
  const response = await auth.handle(new Request(url))
  if (response.status !== 200) return response.status
  const { issuer } = (await response.json()) as { readonly issuer: string }
  return issuer
}

const refused = (make: () => unknown): string => {
  try {
    make()
  } catch (thrown) {
    if (thrown instanceof BadOption) return thrown.option
    throw thrown
  }
  return "made"
}

describe("a host of several workspaces", () => {
  test("answers for each at its own address, and at no other", () =>
    withHosting([acme, beta, root], async (auth) => {
      expect(await issuerAt(auth, `https://acme.example${document}`)).toBe(acme.issuer)
      expect(await issuerAt(auth, `https://id.example${document}/beta`)).toBe(beta.issuer)
      expect(await issuerAt(auth, `https://id.example${document}`)).toBe(root.issuer)
      expect(await issuerAt(auth, `https://other.example${document}`)).toBe(404)
    }))

  test("owns the paths of each at its own host alone", () =>
    withHosting([acme, beta], async (auth) => {
      expect(auth.prefix).toBeUndefined()
      expect(auth.owns("/oauth/token", "acme.example")).toBe(true)
      expect(auth.owns("/orders", "acme.example")).toBe(false)
      expect(auth.owns("/beta/oauth/token", "id.example")).toBe(true)
      expect(auth.owns(`${document}/beta`, "id.example")).toBe(true)
      for (const host of ["id.example", "www.example", "", undefined])
        expect(auth.owns("/oauth/token", host)).toBe(false)
      expect(auth.owns("/beta/oauth/token", "acme.example")).toBe(false)
    }))

  test("has clients, grants and keys of each apart, and its guard tells whose a caller is", () =>
    withHosting([acme, root], async (auth) => {
      const [here, there] = [oneOf(auth, "acme"), oneOf(auth, "root")]
      const { client, token } = await machine(here)
      const access = await token()
      const admitted = await auth.guard(bearer("https://acme.example/orders", access), { scopes: ["api"] })
      expect(admitted._tag === "Admitted" && admitted.principal).toMatchObject({
        workspace: "acme",
        issuer: acme.issuer
      })
      const elsewhere = await auth.guard(bearer("https://id.example/orders", access), { scopes: ["api"] })
      expect(elsewhere._tag === "Refused" && elsewhere.response.status).toBe(401)
      const nowhere = await auth.guard(bearer("https://other.example/orders", access), { scopes: ["api"] })
      expect(nowhere._tag === "Refused" && nowhere.response.status).toBe(404)
      expect((await here.clients.list()).items.map(({ id }) => id)).toEqual([client.id])
      expect((await there.clients.list()).items).toEqual([])
      const key = await here.apiKeys.create({ name: "k" })
      expect((await there.apiKeys.list()).items).toEqual([])
      expect(await there.apiKeys.revoke(key.id)).toBe(false)
      await letIn(here, "ada")
      expect((await here.grants.list("ada")).items).toHaveLength(1)
      expect((await there.grants.list("ada")).items).toEqual([])
    }))

  test("is told the workspace when it is asked for its people", async () => {
    const asked: Array<string> = []
    await withHosting(
      [acme, root],
      async (auth) => {
        const at = (host: string) =>
          auth.handle(new Request(`https://${host}/oauth/authorize?client_id=${"c".repeat(22)}`))
        await letIn(oneOf(auth, "acme"), "ada", "api profile")
        await at("id.example")
        expect(new Set(asked)).toEqual(new Set(["signedIn acme", "signInAt acme"]))
        await auth.handle(new Request("https://id.example/settings/apps"))
        expect(asked).toContain("signedIn root")
        expect(asked).toContain("signInAt root")
      },
      {
        extras: ["settings"],
        owner: {
          signedIn: ({ headers, workspace }) => {
            asked.push(`signedIn ${workspace}`)
            const name = /session=([a-z]+)/.exec(headers.get("cookie") ?? "")?.[1]
            return name === undefined ? undefined : { user: name, session: name }
          },
          signInAt: (returnTo, workspace) => {
            asked.push(`signInAt ${workspace}`)
            return `/sign-in?return_to=${encodeURIComponent(returnTo)}`
          }
        }
      }
    )
  })

  test("draws the pages of each in its own look, and of the others in the server's", () =>
    withHosting(
      [acme, root],
      async (auth) => {
        const page = async (host: string) =>
          (
            await auth.handle(new Request(`https://${host}/oauth/authorize`, { headers: { accept: "text/html" } }))
          ).text()
        expect(await page("acme.example")).toContain("--brand:#b4451f")
        expect(await page("id.example")).toContain("--brand:#0b6e4f")
      },
      { theme: { accent: "#0b6e4f" } }
    ))

  const orders = "https://orders.acme.example"
  const withApis: WorkspaceOption = {
    ...acme,
    scopes: [{ name: "orders", meaning: "See your orders", byDefault: true }],
    resources: [{ at: orders, scopes: ["orders"], accessTokenTtl: "5 minutes" }]
  }

  test.each([
    ["in a list", [withApis, root]],
    ["by a function", { resolve: (host: string) => [withApis, root].find(({ issuer }) => issuer.endsWith(host)) }]
  ])("has scopes and APIs of each apart: %s", (_how, workspaces) =>
    withHosting(workspaces, async (auth) => {
      const told = async (host: string) => {
        const metadata = await auth.handle(new Request(`https://${host}${document}`))
        return ((await metadata.json()) as { readonly scopes_supported: ReadonlyArray<string> }).scopes_supported
      }
      expect(await told("acme.example")).toEqual(["orders", "offline_access"])
      expect(await told("id.example")).toContain("api")
      const isList = Array.isArray(workspaces)
      const [here, there] = [oneOf(auth, isList ? "acme" : withApis), oneOf(auth, isList ? "root" : root)]
      const access = await (await machine(here)).token(orders)
      const needs = { scopes: ["orders"], resource: orders }
      const admitted = await auth.guard(bearer("https://acme.example/x", access), needs)
      expect(admitted._tag === "Admitted" && admitted.principal).toMatchObject({
        resources: [orders],
        scope: ["orders"]
      })
      // What is one's is no other's: there the address is a stranger's.
      expect(await (await machine(there)).token(orders)).toBeUndefined()
      // A key that opens everything opens what there is here, and so does the one in its place.
      const { id } = await here.apiKeys.create({ name: "nightly" })
      const rotated = await here.apiKeys.rotate(id)
      expect(rotated).toMatchObject({ use: "everything", scopes: ["orders"] })
      expect(await auth.guard(bearer("https://acme.example/x", rotated?.key ?? ""), needs)).toMatchObject({
        _tag: "Admitted"
      })
    })
  )

  test("takes one in, changes one and lets one go, from the next request on", () =>
    withHosting([root], async (auth) => {
      expect(await issuerAt(auth, `https://acme.example${document}`)).toBe(404)
      auth.put(acme)
      expect(await issuerAt(auth, `https://acme.example${document}`)).toBe(acme.issuer)
      const { token } = await machine(oneOf(auth, "acme"))
      const access = await token()
      const status = async () => {
        const checked = await auth.guard(bearer("https://acme.example/x", access), { scopes: [] })
        return checked._tag === "Refused" ? checked.response.status : 200
      }
      auth.put({ ...acme, disabled: true })
      expect(await status()).toBe(503)
      auth.put(acme)
      expect(await status()).toBe(200)
      auth.remove("acme")
      expect(await status()).toBe(404)
      auth.put(acme)
      expect(await status()).toBe(200)
      expect(refused(() => auth.put({ ...acme, id: "other" }))).toBe("workspaces.put")
      auth.remove("nobody")
    }))

  test("lets a workspace move that says where it was, and no other", () =>
    withHosting([acme], async (auth) => {
      await auth.for("acme").ready()
      auth.put({ ...acme, issuer: "https://new.example" })
      await expect(auth.for("acme").ready()).rejects.toMatchObject({ _tag: "OtherIssuer" })
      auth.put({ ...acme, issuer: "https://new.example", movedFrom: acme.issuer })
      await auth.for("acme").ready()
    }))

  test("does its chores in all of them", async () => {
    const { clock, wait } = await testClock()
    const signs = (one: WorkspaceOption) => ({
      ...one,
      resources: [{ at: `${one.issuer}/orders`, accessTokenFormat: "jwt" as const }]
    })
    const here = [acme, root]
    await withHosting(
      here.map(signs),
      async (auth) => {
        const keysOf = async ({ issuer }: WorkspaceOption) => {
          const response = await auth.handle(new Request(`${issuer}/oauth/jwks`))
          return ((await response.json()) as { readonly keys: ReadonlyArray<unknown> }).keys.length
        }
        for (const one of here) {
          const { token } = await machine(oneOf(auth, one.id))
          await token(`${one.issuer}/orders`)
        }
        expect(await Promise.all(here.map(keysOf))).toEqual([1, 1])
        await wait(Duration.toMillis(signsFor))
        await auth.housekeep()
        expect(await Promise.all(here.map(keysOf))).toEqual([2, 2])
      },
      { clock, housekeeping: false }
    )
  })

  test("refuses what cannot be, by the option's name", () => {
    const bad: ReadonlyArray<readonly [option: string, workspaces: unknown, over?: object]> = [
      ["workspaces", {}],
      ["workspaces", "acme"],
      ["workspaces", { resolve: "acme" }],
      ["workspaces[0]", [null]],
      ["workspaces[0].id", [{ ...acme, id: "a b" }]],
      ["workspaces[0].issuer", [{ ...acme, issuer: "http://acme.example" }]],
      ["workspaces[0].issuer", [{ ...acme, issuer: "https://acme.example/oauth" }]],
      ["workspaces[0].issuer", [{ ...acme, issuer: "https://acme.example/.well-known/x" }]],
      ["workspaces[0].theme", [{ ...acme, theme: { accent: "red" } }]],
      ["workspaces[0].movedFrom", [{ ...acme, movedFrom: "x" }]],
      ["workspaces[0]", [{ ...acme, nam: "x" }]],
      ["workspaces[0].scopes", [{ ...acme, scopes: [] }]],
      ["workspaces[0].scopes.nam", [{ ...acme, scopes: [{ nam: "x" }] }]],
      ["workspaces[0].resources[0].at", [{ ...acme, resources: [{ at: "orders" }] }]],
      ["workspaces[0].resources[0].scopes", [{ ...acme, resources: [{ at: orders, scopes: ["orders"] }] }]],
      ["workspaces[0].resources[0].accessTokenTtl", [{ ...acme, resources: [{ at: orders, accessTokenTtl: "soon" }] }]],
      ["workspaces[0].trustedIssuers[0]", [{ ...acme, trustedIssuers: [{ issuer: orders }] }]],
      ["workspaces[0].resources", [{ ...acme, resources: null }]],
      ["workspaces[0].trustedIssuers", [{ ...acme, trustedIssuers: null }]],
      ["workspaces[0]", [{ ...acme, disabled: "no" }]],
      ["workspaces[1].id", [acme, { ...root, id: "acme" }]],
      ["workspaces[1]", [acme, { ...acme, id: "other" }]],
      ["issuer", [acme], { issuer: "https://x.example" }],
      ["name", [acme], { name: "x" }],
      ["movedFrom", [acme], { movedFrom: "https://x.example" }]
    ]
    for (const [option, workspaces, over = {}] of bad) {
      expect(refused(() => hosting(workspaces as HostingOptions["workspaces"], over))).toBe(option)
    }
    const auth = hosting([acme])
    expect(refused(() => auth.for("nobody"))).toBe("for")
    expect(refused(() => auth.for("a b"))).toBe("for")
  })
})

describe("a host that resolves workspaces by a function", () => {
  /** `*.product.example`, as a careless host would do it. */
  const careless = (host: string): WorkspaceOption | undefined => {
    const [label = ""] = host.split(".")
    return host.endsWith("product.example")
      ? { id: label || "empty", issuer: `https://${label}.product.example` }
      : undefined
  }

  test.each([
    ["at once", careless],
    ["by a promise", async (host: string) => careless(host)]
  ])("answers for each %s, and for no other host", (_how, resolve) =>
    withHosting({ resolve }, async (auth) => {
      expect(await issuerAt(auth, `https://acme.product.example${document}`)).toBe("https://acme.product.example")
      expect(await issuerAt(auth, `https://beta.product.example${document}`)).toBe("https://beta.product.example")
      const strange = ["a.b.product.example", "product.example", "evilproduct.example", "acme.product.example:8443"]
      for (const host of strange)
        expect([host, await issuerAt(auth, `https://${host}${document}`)]).toEqual([host, 404])
      const { token } = await machine(oneOf(auth, { id: "acme", issuer: "https://acme.product.example" }))
      const access = await token()
      const guarded = async (host: string) => {
        const checked = await auth.guard(bearer(`https://${host}/x`, access), { scopes: [] })
        return checked._tag === "Admitted" ? checked.principal.workspace : checked.response.status
      }
      expect([await guarded("acme.product.example"), await guarded("beta.product.example")]).toEqual(["acme", 401])
    })
  )

  test("may be a method of an object of a class", async () => {
    class Tenants {
      readonly #known = careless
      resolve(host: string) {
        return this.#known(host)
      }
    }
    await withHosting(new Tenants(), async (auth) => {
      const found = "https://acme.product.example"
      expect(await issuerAt(auth, `${found}${document}`)).toBe(found)
    })
  })

  test("never asks it about what is no host", async () => {
    const asked: Array<string> = []
    const noting = (host: string) => {
      asked.push(host)
      return careless(host)
    }
    await withHosting({ resolve: noting }, async (auth) => {
      const odd = [
        ".product.example",
        "a..product.example",
        "acme.product.example.",
        "a b.product.example",
        "ä.product.example",
        "acme,beta",
        "x/y",
        `${"a".repeat(300)}.product.example`
      ]
      for (const host of odd) {
        const checked = await auth.check(
          { method: "GET", path: "/x", headers: { get: (name) => (name === "host" ? host : undefined) } },
          { scopes: [] }
        )
        expect([host, checked._tag === "Refused" && [400, 404].includes(checked.response.status)]).toEqual([host, true])
        expect(auth.owns("/oauth/token", host)).toBe(false)
      }
      expect(asked).toEqual([])
      await issuerAt(auth, `https://ACME.product.example${document}`)
      expect(new Set(asked)).toEqual(new Set(["acme.product.example"]))
    })
  })

  test("remembers what it said for five seconds, a workspace or none", async () => {
    const { clock, wait } = await testClock()
    const there = new Set(["acme.product.example"])
    let asked = 0
    const resolve = async (host: string) => {
      asked++
      return there.has(host) ? careless(host) : undefined
    }
    await withHosting(
      { resolve },
      async (auth) => {
        const at = (name: string) => issuerAt(auth, `https://${name}.product.example${document}`)
        for (let again = 0; again < 5; again++)
          expect([await at("acme"), await at("beta")]).toEqual(["https://acme.product.example", 404])
        expect(asked).toBe(2)
        there.add("beta.product.example")
        there.delete("acme.product.example")
        await wait(5000)
        expect([await at("acme"), await at("beta")]).toEqual([404, "https://beta.product.example"])
      },
      { clock, housekeeping: false }
    )
  })

  test("is answered with 503 where it throws, rejects or says what cannot be, and found again after", async () => {
    const answers: Array<() => unknown> = [
      () => {
        throw new Error("no")
      },
      () => Promise.reject(new Error("no")),
      () => ({ id: "a b", issuer: "https://acme.product.example" }),
      () => ({ id: "acme", issuer: "acme" }),
      () => 7
    ]
    for (const answer of answers) {
      let now = answer
      await withHosting({ resolve: (() => now()) as (host: string) => WorkspaceOption }, async (auth) => {
        expect(await issuerAt(auth, `https://acme.product.example${document}`)).toBe(503)
        now = () => careless("acme.product.example")
        expect(await issuerAt(auth, `https://acme.product.example${document}`)).toBe("https://acme.product.example")
      })
    }
  })

  test("leaves a host's own addresses to its app, where it says so at once", () =>
    withHosting({ resolve: careless }, async (auth) => {
      expect(auth.owns("/oauth/token", "acme.product.example")).toBe(true)
      expect(auth.owns("/oauth/token", "www.other.example")).toBe(false)
      expect(auth.owns("/orders", "acme.product.example")).toBe(false)
    }))

  test("owns nothing at a host that is not the issuer's, whatever it says of it, before a request and after", () =>
    withHosting({ resolve: () => ({ id: "acme", issuer: "https://acme.product.example" }) }, async (auth) => {
      const owned = () =>
        ["acme.product.example", "ACME.product.example:443", "www.product.example", "acme.product.example:8443"].map(
          (host) => auth.owns("/oauth/token", host)
        )
      expect(owned()).toEqual([true, true, false, false])
      for (const host of ["www.product.example", "acme.product.example"])
        await issuerAt(auth, `https://${host}${document}`)
      expect(owned()).toEqual([true, true, false, false])
    }))

  test("is asked once in five seconds for each host, a workspace's or the app's, by mounts and requests alike", async () => {
    const { clock, wait } = await testClock()
    const asked: Array<string> = []
    const resolve = (host: string) => {
      asked.push(host)
      return careless(host)
    }
    await withHosting(
      { resolve },
      async (auth) => {
        const use = async () => {
          for (let times = 0; times < 3; times++) {
            auth.owns("/orders", "www.other.example")
            auth.owns("/oauth/token", "acme.product.example")
            await issuerAt(auth, `https://acme.product.example${document}`)
          }
          return asked.splice(0)
        }
        expect(await use()).toEqual(["www.other.example", "acme.product.example"])
        await wait(4999)
        expect(await use()).toEqual([])
        await wait(1)
        expect(await use()).toEqual(["www.other.example", "acme.product.example"])
      },
      { clock, housekeeping: false }
    )
  })

  test("is asked at once for no address more, once it gave a promise: a request waits for it, and no mount", async () => {
    const asked: Array<string> = []
    const resolve = async (host: string) => {
      asked.push(host)
      return careless(host)
    }
    await withHosting({ resolve }, async (auth) => {
      const hosts = ["www.other.example", "acme.product.example", "www.other.example"]
      expect(hosts.map((host) => auth.owns("/oauth/token", host))).toEqual([true, true, true])
      expect(asked).toEqual(["www.other.example"])
    })
  })

  describe("and has logout calls that a process left", () => {
    const there = "acme.product.example"
    const here: WorkspaceOption = { id: "acme", issuer: `https://${there}` }

    /** A call of yesterday, over a store that can be read as a whole, and what the next process does with it. */
    const left = async (store: (kept: Context.Context<Storage | StorageScan>) => HostingOptions["storage"]) => {
      const { clock, wait } = await testClock()
      const kept = await Effect.runPromise(Effect.scoped(Layer.build(memory.layer)))
      const [asked, told]: [Array<string>, Array<string>] = [[], []]
      const over: Partial<HostingOptions> = {
        clock,
        housekeeping: false,
        storage: store(kept),
        owner: { ...people, signedIn: () => ({ user: "ada", session: "s" }) },
        audit: ({ event }) => void (event._tag === "LogoutCallGivenUp" && told.push(event.client))
      }
      const resolve = (host: string) => {
        asked.push(host)
        return careless(host)
      }
      let client = ""
      await withHosting(
        { resolve },
        async (auth) => {
          const one = oneOf(auth, here)
          const hears = { backchannel_logout_uri: "https://127.0.0.1/logout" }
          client = (await letIn(one, "ada", "openid", {}, hears)).client.id
          await one.grants.endSession("ada", "s")
        },
        over
      )
      await wait(25 * 60 * 60_000)
      asked.length = 0
      return {
        asked,
        client,
        next: (body: (auth: HostingTessera) => Promise<void>) => withHosting({ resolve }, body, over),
        told
      }
    }

    test("is asked for these workspaces by the chores, though no request came in, until they are done", async () => {
      const { asked, client, next, told } = await left(Layer.succeedContext)
      await next(async (auth) => {
        // After a request, say, it does not read the whole store.
        await auth.deliver()
        expect([asked, told]).toEqual([[], []])
        await auth.housekeep()
        expect([asked, told]).toEqual([[there], [client]])
        await auth.housekeep()
        expect([asked, told]).toEqual([[there], [client]])
      })
    })

    test("does nothing with them over a store that cannot be read as a whole, until a request comes in", async () => {
      const { client, next, told } = await left((kept) => Context.get(kept, Storage))
      await next(async (auth) => {
        await auth.housekeep()
        expect(told).toEqual([])
        await issuerAt(auth, `https://${there}${document}`)
        await auth.housekeep()
        expect(told).toEqual([client])
      })
    })
  })

  test("has what it throws in the host's log, and in no answer", async () => {
    const said = spyOn(console, "log").mockImplementation(() => undefined)
    try {
      const resolve = () => Promise.reject(new Error("secret of the tenants"))
      await withHosting(
        { resolve },
        async (auth) => {
          const answer = await auth.handle(new Request(`https://acme.example${document}`))
          expect([answer.status, (await answer.text()).includes("secret")]).toEqual([503, false])
        },
        { log: "problems" }
      )
      expect(inspect(said.mock.calls, { depth: 9 })).toContain("secret of the tenants")
    } finally {
      said.mockRestore()
    }
  })

  test("has no list to change", () =>
    withHosting({ resolve: careless }, async (auth) => {
      expect(refused(() => auth.put(acme))).toBe("workspaces")
      expect(refused(() => auth.remove("acme"))).toBe("workspaces")
      expect(refused(() => auth.for("acme"))).toBe("for")
      await auth.ready()
    }))
})
