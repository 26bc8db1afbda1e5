import { describe, expect, test } from "bun:test"
import { Effect, Layer, Redacted } from "effect"
import { Limiter } from "../../core/ports/Limiter.ts"
import { TooManyRequests } from "../../core/rules/Refusal.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { form, formHeaders, header, hiddenFields } from "../given/flow.ts"
import { noticeOn, pageName } from "../given/page.ts"
import { inWorld } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import { csrfOf, inSettings, look, post, type Section, sections } from "./given.ts"

const ofOwners = sections.filter((section) => section !== "apps")

describe("settings", () => {
  test("send a person who is not signed in to do so, and back to the very page", () =>
    inSettings(function* (world) {
      for (const section of sections) {
        const page = yield* world.send("GET", `/settings/${section}?q=a%26b`)
        expect(page.status).toBe(303)
        expect(header(page, "location")).toBe(`/login?return_to=${encodeURIComponent(`/settings/${section}?q=a%26b`)}`)
        const answer = yield* world.send("POST", `/settings/${section}`, { headers: formHeaders, body: "csrf=x" })
        expect(answer.status).toBe(303)
        expect(header(answer, "location")).toBe(
          `/login?return_to=${encodeURIComponent(`/settings/${section}?done=signed-out`)}`
        )
        const back = yield* look(world, "owner", section, "?done=signed-out")
        expect(noticeOn(back)).toBe("problem")
      }
    }))

  test("begin with what all people have", () =>
    inSettings(function* (world) {
      const answer = yield* world.send("GET", "/settings", { as: "alice" })
      expect(answer.status).toBe(303)
      expect(header(answer, "location")).toBe("/settings/apps")
    }))

  test("of owners are told to members as such, whatever their form says", () =>
    inSettings(function* (world) {
      for (const section of ofOwners) {
        const answers = [
          yield* look(world, "alice", section),
          yield* post(world, "alice", section, { action: "create", name: "n", expires: "never" }),
          yield* post(world, "alice", section, { action: "delete", id: "A".repeat(22) })
        ]
        for (const answer of answers) {
          expect(answer.status).toBe(403)
          expect(pageName(answer)).toBe("error-owners-only")
          expect(answer.body).toContain('href="/settings"')
        }
        expect((yield* look(world, "owner", section)).status).toBe(200)
      }
      expect((yield* look(world, "alice", "apps")).status).toBe(200)
      expect(world.calls.insert).toEqual([])
      expect(world.audit.map(({ event }) => event)).toContainEqual({
        _tag: "Refused",
        endpoint: "/settings/keys",
        refusal: "OwnersOnly",
        reason: null
      })
    }))

  test("show a member no way to what is for owners", () =>
    inSettings(function* (world) {
      const [member, owner] = [yield* look(world, "alice", "apps"), yield* look(world, "owner", "apps")]
      for (const section of ofOwners) {
        const leads = [member, owner].map(({ body }) => body.includes(`"/settings/${section}"`))
        expect([section, ...leads]).toEqual([section, false, true])
      }
    }))

  test("count no form but one of this very session", () =>
    inSettings(function* (world) {
      const fields = { action: "create", name: "n", expires: "never" }
      const csrf = csrfOf(world, "owner")
      const forged = ["", "x", csrfOf(world, "ownerb"), csrfOf(world, "alice"), `${csrf}x`, csrf.slice(0, -1)]
      for (const section of sections) {
        for (const value of forged) {
          const answer = yield* post(world, "owner", section, { ...fields, csrf: value })
          expect(answer.status).toBe(403)
          expect(pageName(answer)).toBe("error-form-expired")
          expect(answer.body).toContain(`href="/settings/${section}"`)
        }
      }
      expect(world.calls.insert).toEqual([])
    }))

  test("answer what no page of ours sends with a page that says so", () =>
    inSettings(function* (world) {
      const csrf = csrfOf(world, "owner")
      for (const section of sections) {
        const bodies: ReadonlyArray<readonly [string, string, number]> = [
          [formHeaders["content-type"], form({ csrf }), 403],
          [formHeaders["content-type"], form({ csrf, action: "explode" }), 403],
          [formHeaders["content-type"], `${form({ csrf, action: "revoke" })}&action=create`, 400],
          ["text/plain", form({ csrf, action: "revoke" }), 400],
          ["application/json", JSON.stringify({ csrf }), 400]
        ]
        for (const [type, body, status] of bodies) {
          const headers = { "content-type": type }
          const answer = yield* world.send("POST", `/settings/${section}`, { as: "owner", headers, body })
          expect(answer.status).toBe(status)
          expect(answer.body).toContain("<h1>")
        }
        const other = yield* world.send("DELETE", `/settings/${section}`, { as: "owner" })
        expect(other.status).toBe(405)
        expect(header(other, "allow")).toContain("POST")
      }
      expect(world.calls.insert).toEqual([])
      expect(world.calls.replace).toEqual([])
    }))

  test("say what was done in words of their own, whatever stands in the address", () =>
    inSettings(function* (world) {
      expect(noticeOn(yield* look(world, "alice", "apps", "?done=app-revoked"))).toBe("done")
      for (const code of ["Send+money+to+me", "constructor", "__proto__", "app-revoked2", ""]) {
        const page = yield* look(world, "alice", "apps", `?done=${code}`)
        expect(page.status).toBe(200)
        expect(page.body).not.toContain('class="notice')
        expect(page.body).not.toContain("money")
      }
      const answer = yield* post(world, "owner", "keys", { action: "create" }, "?done=key-revoked")
      expect([answer.status, noticeOn(answer)]).toEqual([400, undefined])
    }))

  test("say of each form whether it did what it was to do, by the code in the address that it leads to", () =>
    inSettings(function* (world) {
      const done = {
        apps: ["app-revoked"],
        keys: ["key-revoked"],
        clients: [
          ...["client-disabled", "client-enabled", "client-approved", "client-refused", "client-deleted"],
          ...["exchange-saved", "profile-saved", "secret-dropped"]
        ],
        resources: ["resource-added", "resource-removed"],
        documents: ["documents-taken", "host-blocked", "host-unblocked"],
        issuers: ["issuer-added", "issuer-changed", "issuer-removed"]
      } as const
      const problem = {
        apps: ["app-gone"],
        keys: ["key-gone"],
        clients: [
          ...["client-gone", "client-not-asked", "exchange-impossible", "exchange-too-long", "profile-impossible"],
          "secret-not-made"
        ],
        resources: ["resource-gone"],
        documents: ["host-gone"],
        issuers: ["issuer-gone"]
      } as const
      const titles = new Set<string>()
      for (const section of sections) {
        const titleOf = (page: { readonly body: string }) => /<title>([^<]*)/.exec(page.body)?.[1] ?? ""
        titles.add(titleOf(yield* look(world, "owner", section)))
        for (const [kind, codes] of [
          ["done", done[section]],
          ["problem", problem[section]]
        ] as const) {
          for (const code of codes) {
            const page = yield* look(world, "owner", section, `?done=${code}`)
            expect([section, code, noticeOn(page)]).toEqual([section, code, kind])
            // A screen reader says the title first.
            titles.add(titleOf(page))
          }
        }
      }
      expect(titles.size).toBe(3 * sections.length)
    }))

  test("are for no frame, cache or other origin", () =>
    inSettings(function* (world) {
      for (const section of sections) {
        const page = yield* look(world, "owner", section)
        expect(header(page, "cache-control")).toBe("no-store")
        expect(header(page, "content-security-policy")).toContain("frame-ancestors 'none'")
        expect(header(page, "access-control-allow-origin")).toBeUndefined()
      }
    }))

  test("wait, with a page that says how long, after too many forms", () =>
    inSettings(
      function* (world) {
        const answer = yield* post(world, "owner", "keys", { action: "create", name: "n", expires: "never" })
        expect(answer.status).toBe(429)
        expect(header(answer, "retry-after")).toBe("9")
        expect(pageName(answer)).toBe("rate-limited")
        expect((yield* look(world, "owner", "keys")).status).toBe(200)
        expect((yield* look(world, "owner", "clients", "?q=a")).status).toBe(429)
      },
      {
        limiter: Layer.succeed(Limiter, {
          take: (key) => Effect.fail(new TooManyRequests({ limit: key.allowance.name, retryAfterSeconds: 9 }))
        })
      }
    ))

  test("take of the share of the person who sends a form or searches", () => {
    const { limiter, taken } = watchedLimiter()
    return inSettings(
      function* (world) {
        yield* look(world, "owner", "clients")
        expect(taken.splice(0)).toEqual([])
        yield* look(world, "owner", "clients", "?q=a")
        yield* look(world, "owner", "clients", "?client_id=a")
        yield* post(world, "alice", "apps", { action: "revoke" })
        expect(taken).toEqual(["account owner", "account owner", "account alice"])
      },
      { limiter }
    )
  })

  test("stay below the path of their issuer", () =>
    inSettings(
      function* (world) {
        const begin = yield* world.send("GET", "/t/one/settings", { as: "owner", host: "auth.example.com" })
        expect(header(begin, "location")).toBe("/t/one/settings/apps")
        const away = yield* world.send("GET", "/t/one/settings/keys?q=a", { host: "auth.example.com" })
        const back = encodeURIComponent("/t/one/settings/keys?q=a")
        expect(header(away, "location")).toBe(`/login?return_to=${back}`)
        const page = yield* world.send("GET", "/t/one/settings/keys", { as: "owner", host: "auth.example.com" })
        expect(page.status).toBe(200)
        expect(page.body).toContain('action="/t/one/settings/keys"')
        const answer = yield* world.send("POST", "/t/one/settings/keys", {
          as: "owner",
          host: "auth.example.com",
          headers: formHeaders,
          body: form({ csrf: csrfOf(world, "owner"), action: "revoke", id: "AAAAAAAA" })
        })
        expect(header(answer, "location")).toBe("/t/one/settings/keys?done=key-gone")
        const home = yield* world.send("GET", "/t/one/", { as: "owner", host: "auth.example.com" })
        expect(home.status).toBe(200)
      },
      {
        workspaces: [
          { id: WorkspaceId.make("one"), issuer: Issuer.make("https://auth.example.com/t/one"), name: "One" }
        ]
      }
    ))
})

describe("a host with accounts of its own", () => {
  test("has these pages without a way to accounts that it lacks", () =>
    inWorld(
      function* (world) {
        for (const path of ["/", "/settings/apps", "/settings/keys", "/settings/clients", "/settings/resources"]) {
          const page = yield* world.send("GET", path, { as: "owner" })
          expect(page.status).toBe(200)
          expect(page.body.replaceAll("<wbr>", "")).toContain("owner@example.com")
          for (const absent of ["/logout", "/settings/profile", "/settings/members", "/login"]) {
            expect(page.body).not.toContain(absent)
          }
        }
      },
      { endpoints: settingsEndpoints({ accountsElsewhere: true }) }
    ))
})

test("a host that asks for passwords, and does not say since when one counts, asks for each such form", () => {
  const asked: Array<string> = []
  return inSettings(
    function* (world) {
      const fields = { action: "create", name: "n", expires: "never" }
      const make = (typed: object) => post(world, "owner", "keys", { ...fields, ...typed })
      for (const [typed, status] of [
        [{}, 403],
        [{ confirm_password: "a guess" }, 403],
        [{ confirm_password: "the password" }, 200],
        [{}, 403]
      ] as const) {
        const inserted = world.calls.insert.length
        const answer = yield* make(typed)
        expect([typed, answer.status, pageName(answer) === "confirm-password"]).toEqual([typed, status, status === 403])
        expect(world.calls.insert.length - inserted).toBe(status === 200 ? 1 : 0)
      }
      expect(asked).toEqual(["owner a guess", "owner the password"])
    },
    {
      confirm: (_workspace, { user }, password) =>
        Effect.sync(() => {
          asked.push(`${user} ${Redacted.value(password)}`)
          return Redacted.value(password) === "the password"
        })
    }
  )
})

test("the forms that make a key or decide who comes in ask for the password, and the others act at once", () => {
  const id = "A".repeat(22)
  const issuer = "https://login.example.com"
  const asking: ReadonlyArray<readonly [Section, Readonly<Record<string, string>>]> = [
    ["keys", { action: "create", name: "n", expires: "never" }],
    ["keys", { action: "rotate", id }],
    ["clients", { action: "new-secret", id }],
    ["clients", { action: "drop-newer-secret", id }],
    ["clients", { action: "approve", id, asked: "a & b" }],
    ["clients", { action: "exchange", id, resource: "" }],
    ["clients", { action: "profile", id, profile: "fapi2" }],
    ["resources", { action: "add", at: "https://orders.example.com", name: "Orders" }],
    ["resources", { action: "remove", at: "https://orders.example.com" }],
    ["documents", { action: "take", takes: "any", hosts: "" }],
    ["documents", { action: "block", host: "evil.example" }],
    ["documents", { action: "unblock", host: "evil.example" }],
    ["issuers", { action: "add", issuer, keys: `${issuer}/keys` }],
    ["issuers", { action: "change", issuer, keys: "" }],
    ["issuers", { action: "remove", issuer }]
  ]
  const atOnce: typeof asking = [
    ["apps", { action: "revoke", id }],
    ["keys", { action: "revoke", id }],
    ["clients", { action: "refuse", id }],
    ["clients", { action: "disable", id }],
    ["clients", { action: "enable", id }],
    ["clients", { action: "drop-secret", id }],
    ["clients", { action: "delete", id }]
  ]
  return inSettings(
    function* (world) {
      for (const [section, fields] of asking) {
        const page = yield* post(world, "owner", section, fields)
        expect([section, fields, page.status, pageName(page)]).toEqual([section, fields, 403, "confirm-password"])
        // All that was typed goes on with the password; an empty field is none.
        const typed = Object.entries(fields).filter(([, value]) => value !== "")
        expect(hiddenFields(page.body)).toEqual({ csrf: csrfOf(world, "owner"), ...Object.fromEntries(typed) })
        expect(page.body).toContain(`<form method="post" action="/settings/${section}"`)
        expect(page.body).toContain(`href="/settings/${section}"`)
      }
      expect([world.calls.insert, world.calls.replace, world.audit]).toEqual([[], [], []])
      for (const [section, fields] of atOnce) {
        const answer = yield* post(world, "owner", section, fields)
        expect([section, fields, answer.status]).toEqual([section, fields, 303])
      }
    },
    { confirm: () => Effect.succeed(false) }
  )
})

describe("the home page", () => {
  test("leads a person who is not signed in to the host's own sign-in and back", () =>
    inSettings(function* (world) {
      const page = yield* world.send("GET", "/")
      expect(page.status).toBe(200)
      expect(page.body).toContain(`href="/login?return_to=${encodeURIComponent("/")}"`)
      expect(page.body).not.toContain("/logout")
    }))

  test("leads to settings only where there are some", () =>
    Promise.all(
      [false, true].map((homeOnly) =>
        inWorld(
          function* (world) {
            const page = yield* world.send("GET", "/", { as: "alice" })
            expect([page.status, page.body.includes('href="/settings"')]).toEqual([200, !homeOnly])
            expect((yield* look(world, "alice", "apps")).status).toBe(homeOnly ? 404 : 200)
          },
          { endpoints: settingsEndpoints({ homeOnly }) }
        )
      )
    ))

  test("names the person who is signed in, and lets them out by a form of their session", () =>
    inSettings(function* (world) {
      const page = yield* world.send("GET", "/", { as: "alice" })
      expect(page.body.replaceAll("<wbr>", "")).toContain("alice@example.com")
      expect(page.body).toContain(csrfOf(world, "alice"))
      expect(page.body).toContain('href="/settings"')
    }))
})
