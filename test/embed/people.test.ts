import { describe, expect, spyOn, test } from "bun:test"
import { inspect } from "node:util"
import type { CreateOptions } from "../../runtimes/tessera.ts"
import { hiddenFields } from "../given/flow.ts"
import { bearer, formed, issuer, letIn, people, redirectUri, testClock, withHost } from "./host.ts"

const authorize = async (owner: CreateOptions["owner"], headers: Record<string, string> = {}) => {
  let answered: Response | undefined
  await withHost({ owner }, async (auth) => {
    const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
    const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
    answered = await auth.handle(new Request(`${issuer}/oauth/authorize?${asked}`, { headers }))
  })
  if (answered === undefined) throw new Error("nobody answered")
  return answered
}

const ada = { user: "ada", session: "s" }

const fail = (): never => {
  throw new Error("secret of the host")
}

describe("a host's people", () => {
  test("are sent to the host's sign-in and back", async () => {
    const response = await authorize(people)
    expect(response.status).toBe(303)
    const place = new URL(response.headers.get("location") ?? "", issuer)
    expect(place.pathname).toBe("/sign-in")
    expect(place.searchParams.get("return_to")).toStartWith("/oauth/authorize?")
  })

  // A request that comes back from consent is the one that was sealed, so nothing that is posted reaches a header.
  for (const sent of ["a\r\nset-cookie: planted=1", "\u{1f600}", "nul\0", "half \ud83d"]) {
    test(`are sent nowhere by what a stranger posts, also by a host that passes it on as it came: ${JSON.stringify(sent)}`, () =>
      withHost({ owner: { ...people, signInAt: (returnTo) => `/sign-in?return_to=${returnTo}` } }, async (auth) => {
        const body = new URLSearchParams({ request: sent, ticket: sent, decision: "approve" })
        const response = await auth.handle(new Request(`${issuer}/consent`, { method: "POST", body }))
        const headers = ["set-cookie", "location"].map((name) => response.headers.get(name))
        expect([response.status, ...headers]).toEqual([403, null, null])
      }))
  }

  for (const [what, signInAt] of [
    ["throws", () => fail()],
    ["gives no address", () => Object(undefined)],
    // What JavaScript lets through. A rejection that no code waits for ends a process on Node.
    ["gives a promise of one", () => Object(Promise.resolve("/sign-in"))],
    ["gives a promise that comes to nothing", () => Object(Promise.reject(new Error("secret of the host")))]
  ] as const) {
    test(`are told that it is our own fault where the host's signInAt ${what}`, async () => {
      const response = await authorize({ ...people, signInAt })
      expect([response.status, await response.json()]).toMatchObject([500, { error: "server_error" }])
      const switching = await authorize({ ...people, signedIn: () => ada, switchAt: signInAt })
      expect([switching.status, await switching.json()]).toMatchObject([500, { error: "server_error" }])
    })
  }

  test("may be told by a value or by a promise, and no person by undefined or null", async () => {
    expect((await authorize({ ...people, signedIn: () => ada })).status).toBe(200)
    expect((await authorize({ ...people, signedIn: async () => ada })).status).toBe(200)
    expect((await authorize({ ...people, signedIn: async () => null })).status).toBe(303)
    expect((await authorize({ ...people, signedIn: () => undefined })).status).toBe(303)
  })

  test("are asked to sign in anew by whatever the host does about it, as far as it says when they did", async () => {
    const asked: Array<unknown> = []
    const owner: CreateOptions["owner"] = {
      ...people,
      signedIn: () => ({ ...ada, authenticatedAt: new Date(0) }),
      switchAt: (returnTo, _workspace, what) => {
        asked.push(what)
        return `/switch?return_to=${encodeURIComponent(returnTo)}`
      }
    }
    await withHost({ owner }, async (auth) => {
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const query = { response_type: "code", client_id: client.id, redirect_uri: redirectUri }
      const open = (address: string) => auth.handle(new Request(new URL(address, issuer)))
      for (const prompt of ["login", "select_account"]) {
        const first = await open(`/oauth/authorize?${new URLSearchParams({ ...query, prompt })}`)
        const back = new URL(first.headers.get("location") ?? "", issuer).searchParams.get("return_to") ?? ""
        const second = await open(back)
        const error = new URL(second.headers.get("location") ?? issuer).searchParams.get("error")
        expect([prompt, second.status, error]).toEqual([
          prompt,
          ...(prompt === "login" ? [303, "login_required"] : [200, null])
        ])
      }
    })
    expect(asked).toEqual(["login", "select_account", undefined])
  })

  const odd: ReadonlyArray<readonly [what: string, owner: object]> = [
    ["a time that is none", { signedIn: () => ({ ...ada, authenticatedAt: new Date(Number.NaN) }) }],
    ["a time that is a number", { signedIn: () => ({ ...ada, authenticatedAt: 5 }) }],
    ["places that are no list", { places: () => ({ id: "a", label: "A" }) }],
    ["a place without a label", { places: () => [{ id: "a" }] }],
    ["a place whose id has a space", { places: () => [{ id: "a b", label: "A" }] }],
    [
      "one place twice",
      {
        places: () => [
          { id: "a", label: "A" },
          { id: "a", label: "B" }
        ]
      }
    ],
    ["a scope that is none", { places: async () => [{ id: "a", label: "A", scopes: ["a b"] }] }],
    ["a fault of its own", { places: fail }]
  ]
  for (const [what, owner] of odd) {
    test(`are refused where the host tells ${what}: 503, and nothing of it is shown`, async () => {
      const response = await authorize({ ...people, signedIn: () => ada, ...owner })
      expect([response.status, (await response.text()).includes("secret of the host")]).toEqual([503, false])
    })
  }

  test("are known by the framework's own request, with what middleware put there", async () => {
    const session = new WeakMap<object, typeof ada>()
    const owner: CreateOptions["owner"] = {
      ...people,
      signedIn: ({ native }) => (typeof native === "object" && native !== null ? session.get(native) : undefined)
    }
    await withHost({ owner }, async (auth) => {
      const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
      const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
      const request = new Request(`${issuer}/oauth/authorize?${asked}`)
      expect((await auth.handle(request)).status).toBe(303)
      session.set(request, ada)
      expect((await auth.handle(request)).status).toBe(200)
    })
  })

  test("are told of settings where they find what they allowed only where there are any", async () => {
    for (const [extras, told] of [
      [[], false],
      [["settings"], true]
    ] as const) {
      await withHost({ extras, owner: { ...people, signedIn: () => ada } }, async (auth) => {
        const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
        const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
        const page = await (await auth.handle(new Request(`${issuer}/oauth/authorize?${asked}`))).text()
        expect([extras, page.includes("Connected apps")]).toEqual([extras, told])
        expect((await auth.handle(new Request(`${issuer}/settings/apps`))).status).toBe(told ? 200 : 404)
      })
    }
  })

  for (const [extras, there] of [
    [[], false],
    [["home"], false],
    [["settings"], true],
    [["settings", "home"], true]
  ] as const) {
    test(`are led to settings by no page where there are none: with the extras [${extras.join(", ")}]`, async () => {
      await withHost({ extras, owner: { ...people, signedIn: () => ada } }, async (auth) => {
        const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
        const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
        const asking = await (await auth.handle(new Request(`${issuer}/oauth/authorize?${asked}`))).text()
        const click = () =>
          auth.handle(
            new Request(`${issuer}/consent`, {
              method: "POST",
              headers: { origin: issuer },
              body: new URLSearchParams({ ...hiddenFields(asking), decision: "approve" })
            })
          )
        expect((await click()).status).toBe(303)
        const answered = await (await click()).text()
        expect(answered).toContain('data-page="consent-waiting"')
        const home = await (await auth.handle(new Request(`${issuer}/`))).text()
        const leading = [answered, ...(auth.owns("/") ? [home] : [])].map((page) => page.includes('href="/settings'))
        expect([...new Set(leading)]).toEqual([there])
        expect((await auth.handle(new Request(`${issuer}/settings/apps`))).status).toBe(there ? 200 : 404)
      })
    })
  }

  test.each([
    ["nothing", {}, 403],
    ["that they are members", { role: "member" }, 403],
    ["that they are owners", { role: "owner" }, 200]
  ] as const)("look after keys only where the host says so, and here it says %s", (_what, role, status) =>
    withHost({ extras: ["settings"], owner: { ...people, signedIn: () => ({ ...ada, ...role }) } }, async (auth) => {
      expect((await auth.handle(new Request(`${issuer}/settings/keys`))).status).toBe(status)
    })
  )

  for (const [trouble, signedIn] of [
    ["throws", () => Promise.reject(new Error("secret of the session store"))],
    [
      "throws at once",
      () => {
        throw new Error("secret of the session store")
      }
    ],
    ["says a user that is no id", () => ({ user: "with space", session: "s" })],
    ["says no session", () => ({ user: "ada", session: "" })],
    // What JavaScript lets through.
    ["says a label that is no text", () => ({ ...ada, label: Object(5).valueOf() })],
    ["says a role that there is not", () => ({ ...ada, role: Object("admin").valueOf() })],
    ["says a strength that is no text", () => ({ ...ada, acr: Object(2).valueOf() })],
    ["says means that are no list", () => ({ ...ada, amr: Object("pwd").valueOf() })]
  ] as const) {
    test(`a host that ${trouble} is answered for with 503 and none of its words`, async () => {
      const response = await authorize({ ...people, signedIn })
      expect(response.status).toBe(503)
      expect(await response.text()).not.toContain("secret of the session store")
    })
  }

  test("whose host throws are no riddle to it: what it threw is in its log", async () => {
    const said = spyOn(console, "log").mockImplementation(() => undefined)
    try {
      const signedIn = () => Promise.reject(new Error("secret of the session store"))
      await withHost({ owner: { ...people, signedIn }, log: "problems" }, async (auth) => {
        const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
        const asked = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
        await auth.handle(new Request(`${issuer}/oauth/authorize?${asked}`))
      })
      const log = inspect(said.mock.calls, { depth: 9 })
      expect(log).toContain("secret of the session store")
      // Nothing was wrong with the storage.
      expect(log).not.toContain("the storage")
    } finally {
      said.mockRestore()
    }
  })

  test("are asked on a page that the host draws, which is never framed, and whose trouble stays its own", async () => {
    const asked = async (consentPage: NonNullable<CreateOptions["consentPage"]>) => {
      let answer: Response | undefined
      await withHost({ owner: { ...people, signedIn: () => ada }, consentPage }, async (auth) => {
        const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
        const fields = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
        answer = await auth.handle(new Request(`${issuer}/oauth/authorize?${fields}`))
      })
      if (answer === undefined) throw new Error("nobody answered")
      return answer
    }
    const drawn = await asked(({ client, account }) => `<h1>${client.name}, ${account}?</h1>`)
    expect([drawn.status, await drawn.text()]).toEqual([200, "<h1>App, ada?</h1>"])
    expect(drawn.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(drawn.headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    expect(drawn.headers.get("x-frame-options")).toBe("DENY")

    const whole = await asked(() => ({ status: 200, headers: [["x-own", "yes"]], body: "<h1>?</h1>" }))
    expect([whole.headers.get("x-own"), whole.headers.get("x-frame-options")]).toEqual(["yes", "DENY"])

    const elsewhere = await asked("/allow")
    expect(elsewhere.headers.get("location")).toStartWith("/allow?request=response_type%3Dcode%26")

    const broken = await asked(() => {
      throw new Error("secret of the template")
    })
    expect([broken.status, await broken.text()]).toEqual([500, expect.not.stringContaining("secret")])

    const late = await asked(() => Object(Promise.reject(new Error("secret of the template"))))
    expect([late.status, await late.text()]).toEqual([500, expect.not.stringContaining("secret")])
  })

  test("change who they are where the host says, and where it says nothing, at its sign-in", async () => {
    const link = async (owner: CreateOptions["owner"]) =>
      /href="([^"]*)">Not you/.exec(await (await authorize({ ...owner, signedIn: () => ada })).text())?.[1]
    expect(await link(people)).toStartWith("/sign-in?return_to=")
    expect(await link({ ...people, switchAt: (to) => `/switch?to=${encodeURIComponent(to)}` })).toStartWith(
      "/switch?to=%2Foauth%2Fauthorize%3F"
    )
  })

  test("come back from the sign-in into the authorization server, or to the host's own page", () =>
    withHost({ issuer: `${issuer}/auth` }, async ({ returnTo }) => {
      expect(returnTo("/auth/oauth/authorize?client_id=a%20b")).toBe("/auth/oauth/authorize?client_id=a%20b")
      for (const asked of [
        null,
        undefined,
        "",
        "/elsewhere",
        "//evil.example/auth/",
        "/auth/../evil",
        "/auth/\\evil"
      ]) {
        expect([asked, returnTo(asked)]).toEqual([asked, "/"])
        expect(returnTo(asked, "/account")).toBe("/account")
      }
      expect(returnTo("https://evil.example/auth/oauth/authorize")).toBe("/")
    }))

  const told = async (owner: CreateOptions["owner"], person: string) => {
    let answer: { status: number; body: unknown } | undefined
    await withHost({ owner }, async (auth) => {
      const { access } = await letIn(auth, person, "profile")
      const response = await auth.handle(bearer(`${issuer}/oauth/userinfo`, access))
      answer = { status: response.status, body: await response.json() }
    })
    return answer
  }

  test("have a profile where the host tells one, and none once they are gone", async () => {
    expect(await told(people, "ada")).toEqual({ status: 200, body: { sub: "ada", name: "ADA" } })
    expect(await told(people, "gone")).toMatchObject({ status: 401 })
    const { signInAt, signedIn } = people
    expect(await told({ signInAt, signedIn }, "ada")).toEqual({ status: 200, body: { sub: "ada" } })
  })

  test("are told of to applications by the claims that there are, and by nothing else of a host's row", async () => {
    const claims = { name: "Ada", email: "ada@shop.example", email_verified: true, picture: "https://shop.example/a" }
    const row = { ...claims, sub: "eve", id: 7n, password_hash: "secret", toJSON: () => "secret" }
    expect(await told({ ...people, profile: () => row }, "ada")).toEqual({
      status: 200,
      body: { sub: "ada", ...claims }
    })
    // OpenID Connect Core §5.3.2: a claim without a value is left out. A table has null where it has none.
    const empty: object = { name: "Ada", email: null, picture: undefined }
    expect(await told({ ...people, profile: () => empty }, "ada")).toEqual({
      status: 200,
      body: { sub: "ada", name: "Ada" }
    })
    class Entity {
      get name() {
        return "Ada"
      }
    }
    expect(await told({ ...people, profile: async () => new Entity() }, "ada")).toEqual({
      status: 200,
      body: { sub: "ada", name: "Ada" }
    })
  })

  /** What tokens say of themselves (OpenID Connect Core §2, RFC 7519, Back-Channel Logout), and a standard claim. */
  const reserved = [
    ...["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "nonce", "acr", "amr", "auth_time", "azp"],
    ...["at_hash", "c_hash", "sid", "events", "email"]
  ]

  test("tell claims of their own to applications with the scope that the host names for them", async () => {
    const groups = { name: "groups", meaning: "See your groups", needsUser: true }
    const own = {
      owner: { ...people, profile: () => ({ name: "Ada", groups: ["ops"], team: "x" }) },
      scopes: [{ name: "api", meaning: "Use it", byDefault: true }, groups],
      claims: { groups: ["groups"] }
    }
    await withHost(own, async (auth) => {
      const tell = async (scope: string) => {
        const { access } = await letIn(auth, "ada", scope)
        const response = await auth.handle(bearer(`${issuer}/oauth/userinfo`, access))
        return [response.status, await response.json()]
      }
      expect(await tell("api groups")).toEqual([200, { sub: "ada", groups: ["ops"] }])
      expect((await tell("api"))[0]).toBe(403)
    })
    for (const claims of [
      { other: ["x"] },
      ...reserved.map((name) => ({ groups: [name] })),
      { groups: [] },
      { groups: "x" }
    ]) {
      // What JavaScript lets through.
      await expect(withHost({ ...own, claims: claims as never }, async () => undefined)).rejects.toThrow("claims")
    }
  })

  test("are sent to be signed out where the host can do it, and are promised nothing where it cannot", async () => {
    const members = ["end_session_endpoint", "backchannel_logout_supported", "backchannel_logout_session_supported"]
    for (const [owner, ...expected] of [
      [people, [], 404],
      [{ ...people, signOut: () => [] }, members, 200]
    ] as const) {
      await withHost({ owner }, async (auth) => {
        const discovery = await auth.handle(new Request(`${issuer}/.well-known/openid-configuration`))
        const document = (await discovery.json()) as object
        const page = await auth.handle(new Request(`${issuer}/oauth/logout`))
        expect<unknown>([members.filter((name) => name in document), page.status]).toEqual(expected)
      })
    }
  })

  test("are not told that they are signed out by a host whose answer is no list of headers: 503", async () => {
    const oddities: ReadonlyArray<unknown> = [{ "set-cookie": "session=" }, "session=", [["set-cookie"]], [["a", 1]]]
    for (const odd of oddities) {
      // What JavaScript lets through.
      await withHost({ owner: { ...people, signOut: () => odd as never } }, async (auth) => {
        const at = `${issuer}/oauth/logout`
        const cookie = "session=ada"
        const page = await auth.handle(new Request(at, { headers: { cookie } }))
        const pressed = formed(hiddenFields(await page.text()), { cookie, origin: issuer })
        expect((await auth.handle(new Request(at, pressed))).status).toBe(503)
      })
    }
  })

  test("are signed out of the applications of a session that the host ends, and of no other", async () => {
    const { clock, wait } = await testClock()
    const told: Array<unknown> = []
    const owner: CreateOptions["owner"] = {
      ...people,
      signedIn: ({ headers }) => ({ user: "ada", session: headers.get("cookie") ?? "" })
    }
    const revoked: Array<unknown> = []
    const audit: CreateOptions["audit"] = ({ event }) => {
      if (event._tag === "LogoutCallGivenUp") told.push(event)
      if (event._tag === "GrantRevoked") revoked.push([event.why, event.by])
    }
    await withHost({ owner, clock, audit, housekeeping: false }, async (auth) => {
      const signIn = (session: string) =>
        letIn(auth, session, "openid", {}, { backchannel_logout_uri: "https://127.0.0.1/logout" })
      const [desk, phone] = [await signIn("desk"), await signIn("phone")]
      const statuses = () =>
        Promise.all(
          [desk, phone].map(
            async ({ access }) => (await auth.handle(bearer(`${issuer}/oauth/userinfo`, access))).status
          )
        )
      for (const [user, session] of [
        ["eve", "session=phone"],
        ["ada", "phone"],
        ["ada", ""],
        ["", "session=phone"]
      ] as const) {
        await auth.grants.endSession(user, session)
      }
      // What JavaScript lets through.
      await expect(auth.grants.endSession("ada", undefined as unknown as string)).rejects.toMatchObject({
        option: "grants.endSession session"
      })
      expect(await statuses()).toEqual([200, 200])
      expect(revoked).toEqual([])
      await auth.grants.endSession("ada", "session=phone")
      expect(await statuses()).toEqual([200, 401])
      // A guard elsewhere ends at once what the audit stream tells of.
      expect(revoked).toEqual([["by_user", "host program"]])
      // A call to an address that the server may not reach is given up after a day, and not before.
      await auth.deliver()
      expect(told).toEqual([])
      await wait(25 * 60 * 60 * 1000)
      await auth.deliver()
      expect(told).toEqual([{ _tag: "LogoutCallGivenUp", client: phone.client.id, why: "address_refused" }])
    })
  })

  const noProfiles: ReadonlyArray<unknown> = [
    { email: 5 },
    { name: 7n },
    { email_verified: "yes" },
    { picture: { href: "secret" } },
    { name: ["secret"] },
    "secret",
    true
  ]
  for (const [index, no] of noProfiles.entries()) {
    test(`are not told of to applications by a profile that is none: 503 (${index + 1})`, async () => {
      // What JavaScript lets through.
      const answer = await told({ ...people, profile: () => no as { name: string } }, "ada")
      expect(answer).toMatchObject({ status: 503, body: { error: "temporarily_unavailable" } })
      expect(JSON.stringify(answer)).not.toContain("secret")
    })
  }
})
