import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { longestSealed, sealedPrefix } from "../../../core/client/ClientIdentifier.ts"
import { deviceGrant } from "../../../core/client/Profile.ts"
import { ClientId } from "../../../core/rules/Id.ts"

import {
  answerAs,
  askForDevice,
  deviceClient,
  enterCode,
  poll,
  polledAs,
  toldOf,
  waitingDevice
} from "../../given/devices.ts"
import { DocumentsWeb } from "../../given/documentsWeb.ts"
import {
  bearing,
  challenge,
  companies,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  postRegistration,
  provenClient,
  refresh,
  registerClient,
  text,
  tokensOf,
  verifier
} from "../../given/flow.ts"
import { identify, signsIn } from "../../given/openId.ts"
import { fieldProblems, noticeOn, pageName } from "../../given/page.ts"
import { inWorld, realSignatures, theWorkspace } from "../../given/World.ts"
import { watchedLimiter } from "../../given/watchedLimiter.ts"

const { issuer } = theWorkspace

describe("a device", () => {
  test("asks, shows a code, and has its tokens once a person approved", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const answer = yield* askForDevice(world, tv, { scope: "api" })
      expect(answer.status).toBe(200)
      expect(header(answer, "cache-control")).toBe("no-store")
      const told = toldOf(answer)
      expect(told.userCode).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
      expect(jsonOf(answer)).toMatchObject({
        verification_uri: `${issuer}/device`,
        verification_uri_complete: `${issuer}/device?user_code=${told.userCode}`,
        expires_in: 600,
        interval: 5
      })
      expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
      const page = yield* enterCode(world, told.userCode.toLowerCase().replace("-", " "))
      expect(pageName(page)).toBe("consent")
      expect(page.body).toContain(told.userCode)
      expect(page.body).toContain("Television")
      const answered = yield* answerAs(world, told.userCode, "approve")
      expect([answered.status, pageName(answered)]).toEqual([200, "consent-approved"])
      const tokens = tokensOf(yield* poll(world, tv, told))
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      expect((yield* refresh(world, tv, tokens.refresh)).status).toBe(200)
      expect(world.audit.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ _tag: "ConsentGiven", device: true })
      )
    }))

  test("that signed its person in goes on when the session ends in which its code was entered", () =>
    inWorld(
      function* (world) {
        const hears = { backchannel_logout_uri: "https://app.example.org/logout" }
        const web = yield* registerClient(world, hears)
        const here = text((yield* identify(world, web)).access_token)
        const tv = yield* deviceClient(world, {
          ...hears,
          redirect_uris: [web.redirectUri],
          grant_types: [deviceGrant, "authorization_code"]
        })
        const told = yield* waitingDevice(world, tv, { scope: "openid" })
        yield* answerAs(world, told.userCode, "approve")
        const there = tokensOf(yield* poll(world, tv, told))
        const page = yield* world.send("GET", "/oauth/logout", { as: "alice" })
        const end = { as: "alice", headers: formHeaders, body: form(hiddenFields(page.body)) }
        expect((yield* world.send("POST", "/oauth/logout", end)).status).toBe(200)
        const userinfo = Effect.fnUntraced(function* (token: string) {
          return (yield* world.send("GET", "/oauth/userinfo", { headers: bearing(token) })).status
        })
        // An application of that session is over with it.
        expect([yield* userinfo(here), yield* userinfo(there.access)]).toEqual([401, 200])
        expect((yield* refresh(world, tv, there.refresh)).status).toBe(200)
      },
      { ...signsIn, documents: new DocumentsWeb().layer() }
    ))

  test("learns that its person denied it, and that no person came", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const one = yield* waitingDevice(world, tv)
      expect(pageName(yield* answerAs(world, one.userCode, "deny"))).toBe("consent-denied")
      expect(yield* polledAs(world, tv, one)).toBe("access_denied")
      const two = yield* waitingDevice(world, tv)
      yield* TestClock.adjust("599999 millis")
      expect(yield* polledAs(world, tv, two)).toBe("authorization_pending")
      yield* TestClock.adjust("1 millis")
      expect(yield* polledAs(world, tv, two)).toBe("expired_token")
      yield* world.storage.sweep(Number.MAX_SAFE_INTEGER, 100)
      expect(yield* polledAs(world, tv, two)).toBe("expired_token")
    }))

  test("may prove itself by PKCE, and then has to", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const asked = { code_challenge: challenge, code_challenge_method: "S256" }
      const told = yield* waitingDevice(world, tv, asked)
      yield* answerAs(world, told.userCode, "approve")
      expect(yield* polledAs(world, tv, told)).toBe("invalid_grant")
      expect(yield* polledAs(world, tv, told, { code_verifier: verifier })).toBe("tokens")
    }))

  test("is for a resource, and for fewer when it fetches its tokens", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv, { resource: `${issuer}/rest` })
      yield* answerAs(world, told.userCode, "approve")
      expect(yield* polledAs(world, tv, told, { resource: issuer })).toBe("invalid_target")
      expect(yield* polledAs(world, tv, told, { resource: `${issuer}/rest/companies` })).toBe("tokens")
      expect(jsonOf(yield* askForDevice(world, tv, { resource: "https://evil.example" })).error).toBe("invalid_target")
    }))

  test("proves its secret, where it has one", () =>
    inWorld(function* (world) {
      const box = yield* deviceClient(world, { token_endpoint_auth_method: "client_secret_post" })
      const told = yield* waitingDevice(world, box)
      const bare = { ...box, secret: undefined }
      expect((yield* askForDevice(world, bare)).status).toBe(401)
      yield* answerAs(world, told.userCode, "approve")
      expect((yield* poll(world, bare, told)).status).toBe(401)
      expect(yield* polledAs(world, box, told)).toBe("tokens")
    }))

  test("is served to clients that registered for it, where it is served at all", () =>
    inWorld(function* (world) {
      const web = yield* Effect.orDie(provenClient(world))
      expect(jsonOf(yield* askForDevice(world, web)).error).toBe("unauthorized_client")
      const fapi = yield* postRegistration(world, { grant_types: [deviceGrant], security_profile: "fapi2" })
      expect([fapi.status, jsonOf(fapi).error]).toEqual([400, "invalid_client_metadata"])
      const both = yield* registerClient(world, { grant_types: [deviceGrant, "authorization_code"] })
      expect((yield* askForDevice(world, both)).status).toBe(200)
      const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
      expect(metadata.device_authorization_endpoint).toBe(`${issuer}/oauth/device_authorization`)
      expect(metadata.grant_types_supported).toContain(deviceGrant)
    }))

  test.each(["a document", "a registration without a row"])(
    "gets in by %s, which is a row once a person approved",
    (by) => {
      const web = new DocumentsWeb()
      const address = web.publish("https://tv.example/client.json", {
        client_name: "Television",
        redirect_uris: undefined,
        grant_types: [deviceGrant]
      })
      return inWorld(
        function* (world) {
          const sealed = yield* deviceClient(world)
          const tv = by === "a document" ? { ...sealed, id: address } : sealed
          expect([sealed.id.startsWith(sealedPrefix), sealed.id.length <= longestSealed]).toEqual([true, true])
          const rows = () =>
            Effect.map(world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 }), ({ values }) =>
              values.map(({ origin }) => String(origin?.identifier))
            )
          const denied = yield* waitingDevice(world, tv)
          expect(pageName(yield* answerAs(world, denied.userCode, "deny"))).toBe("consent-denied")
          expect(yield* polledAs(world, tv, denied)).toBe("access_denied")
          const told = yield* waitingDevice(world, tv)
          expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
          const page = yield* enterCode(world, told.userCode)
          expect([pageName(page), yield* rows()]).toEqual(["consent", []])
          if (by === "a document") expect(page.body).toContain("tv.example")
          expect(pageName(yield* answerAs(world, told.userCode, "approve"))).toBe("consent-approved")
          expect(yield* rows()).toEqual([tv.id])
          const there = yield* world.elsewhere
          const tokens = tokensOf(yield* poll(there, tv, told))
          expect((yield* companies(world, tokens.access)).status).toBe(200)
          expect((yield* refresh(world, tv, tokens.refresh)).status).toBe(200)
        },
        { documents: web.layer(), policy: { registrationRows: "at_consent" } }
      )
    }
  )

  for (const policy of [{ devices: false }, { profile: "fapi2" as const }]) {
    test(`is told nothing by a server that serves none: ${JSON.stringify(policy)}`, () =>
      inWorld(
        function* (world) {
          const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
          expect(metadata.device_authorization_endpoint).toBeUndefined()
          expect(metadata.grant_types_supported).not.toContain(deviceGrant)
          expect((yield* world.send("POST", "/oauth/device_authorization")).status).toBe(404)
          expect((yield* world.send("GET", "/device", { as: "alice" })).status).toBe(404)
        },
        { policy, signatures: realSignatures }
      ))
  }

  test("takes what a device begins from its network, as a pushed request is", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const { id: client_id } = yield* deviceClient(world)
        taken.length = 0
        const sent = { peer: "192.0.2.1", headers: formHeaders, body: form({ client_id }) }
        expect((yield* world.send("POST", "/oauth/device_authorization", sent)).status).toBe(200)
        expect(taken).toContain("push 192.0.2.1")
      },
      { limiter }
    )
  })
})

describe("the page for codes", () => {
  test("takes a code in any writing", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const { userCode } = yield* waitingDevice(world, tv)
      const letters = userCode.replace("-", "")
      for (const written of [
        letters,
        letters.toLowerCase(),
        ` ${letters} `,
        [...letters].join("-"),
        `${letters.slice(0, 4)}–${letters.slice(4)}`
      ]) {
        expect(pageName(yield* enterCode(world, written))).toBe("consent")
      }
    }))

  test("refuses a form of another session", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const { userCode } = yield* waitingDevice(world, tv)
      const drawn = yield* world.send("GET", "/device", { as: "alice" })
      const body = form({ ...hiddenFields(drawn.body), user_code: userCode })
      const posted = yield* world.send("POST", "/device", { as: "mallory", headers: formHeaders, body })
      expect(posted.status).toBe(403)
      expect((yield* world.send("POST", "/device", { headers: formHeaders, body })).status).toBe(303)
    }))
})

describe("the page for a device's code", () => {
  const fieldIn = (body: string) => /<input [^>]*name="user_code"[^>]*>/.exec(body)?.[0] ?? ""
  const valueIn = (body: string) => /value="([^"]*)"/.exec(fieldIn(body))?.[1]
  const linkIn = (body: string, text: string) =>
    new RegExp(`href="([^"]*)">${text}`).exec(body)?.[1]?.replaceAll("&amp;", "&")
  const returnTo = (link: string | undefined) => new URL(link ?? "", issuer).searchParams.get("return_to")

  const rows: ReadonlyArray<readonly [query: string, value: string | undefined, code: string | undefined]> = [
    ["", undefined, undefined],
    ["user_code=wdjbmjht", "WDJB-MJHT", "WDJB-MJHT"],
    ["user_code=WDJB-MJHT&other=x", "WDJB-MJHT", "WDJB-MJHT"],
    ["user_code=hello", "hello", undefined],
    [`user_code=${"x".repeat(40)}`, "x".repeat(32), undefined]
  ]
  test.each(rows.map((row) => [row[0], row] as const))("is drawn by ?%s", (_, [query, value, code]) =>
    inWorld(function* (world) {
      const page = yield* world.send("GET", `/device?${query}`, { as: "alice" })
      expect([page.status, pageName(page), valueIn(page.body), noticeOn(page)]).toEqual([
        200,
        "device",
        value,
        undefined
      ])
      expect(page.body.replaceAll("<wbr>", "")).toContain("<bdi>alice@example.com</bdi>")
      expect(linkIn(page.body, "Go on with your phone")).toBe(code && `/device/code?user_code=${code}`)
      expect(returnTo(linkIn(page.body, "Not you"))).toBe(code === undefined ? "/device" : `/device?user_code=${code}`)
      expect([...Object.keys(hiddenFields(page.body))]).toEqual(["csrf"])
    })
  )

  test("leads who is not signed in to the sign-in and back, and says of a form that it is not sent again", () =>
    inWorld(function* (world) {
      const opened = yield* world.send("GET", "/device?user_code=WDJB-MJHT")
      expect([opened.status, returnTo(header(opened, "location"))]).toEqual([303, "/device?user_code=WDJB-MJHT"])
      const body = form({ user_code: "WDJB-MJHT", csrf: "x" })
      const sent = yield* world.send("POST", "/device", { headers: formHeaders, body })
      expect([sent.status, returnTo(header(sent, "location"))]).toEqual([303, "/device?done=signed-out"])
      expect((yield* world.send("POST", "/device", { as: "alice", body })).status).toBe(400)
    }))

  test("takes a guess from the account, its address and all, and tells of no guess but that it is none", () => {
    const { limiter, taken } = watchedLimiter()
    return inWorld(
      function* (world) {
        const tv = yield* deviceClient(world)
        const answered = yield* waitingDevice(world, tv)
        const { csrf } = hiddenFields((yield* world.send("GET", "/device", { as: "alice" })).body)
        const enter = (user_code: string | undefined) => {
          taken.length = 0
          const body = form({ csrf, user_code })
          return world.send("POST", "/device", { as: "alice", peer: "192.0.2.1", headers: formHeaders, body })
        }
        const led = yield* enter(answered.userCode)
        expect([led.status, header(led, "location")?.startsWith("/oauth/authorize?client_id=")]).toEqual([303, true])
        expect(taken).toEqual(["user_code alice", "user_code_from 192.0.2.1", "user_code_in_all all"])
        yield* answerAs(world, answered.userCode, "deny")
        const allowed = yield* waitingDevice(world, tv)
        yield* answerAs(world, allowed.userCode, "approve")
        const late = yield* waitingDevice(world, tv)
        yield* TestClock.adjust("10 minutes")
        for (const [code, reason, shown] of [
          [undefined, "malformed", ""],
          ["hello", "malformed", "hello"],
          ["wdjbmjht", "unknown", "WDJB-MJHT"],
          [answered.userCode, "answered", answered.userCode],
          [allowed.userCode, "answered", allowed.userCode],
          [late.userCode, "expired", late.userCode]
        ] as const) {
          const again = yield* enter(code)
          expect([code, again.status, pageName(again), valueIn(again.body) ?? ""]).toEqual([code, 400, "device", shown])
          expect(fieldProblems(again)).toEqual(["user_code"])
          expect(linkIn(again.body, "Go on with your phone")).toBeUndefined()
          expect(taken.slice(0, 3)).toEqual(["user_code alice", "user_code_from 192.0.2.1", "user_code_in_all all"])
          expect(world.audit.at(-1)?.event).toEqual({
            _tag: "Refused",
            endpoint: "/device",
            refusal: "InvalidUserCode",
            reason
          })
        }
      },
      { limiter }
    )
  })

  test("says that the store is away, and not that there is no such code", () =>
    inWorld(function* (world) {
      const { userCode } = yield* waitingDevice(world, yield* deviceClient(world))
      world.away.add("get request")
      expect((yield* enterCode(world, userCode)).status).toBe(503)
      world.away.clear()
      expect(pageName(yield* enterCode(world, userCode))).toBe("consent")
    }))

  test("for another device to scan is drawn while the store is away, before the workspace was ever opened", () =>
    inWorld(
      function* (world) {
        world.away.add("get workspace")
        expect(pageName(yield* world.send("GET", "/device/code?user_code=WDJB-MJHT"))).toBe("device-code")
        expect((yield* world.send("GET", "/device?user_code=WDJB-MJHT", { as: "alice" })).status).toBe(503)
      },
      { unopened: true }
    ))

  test("leads to no consent, and nowhere else, where the client may not ask any more", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const { userCode } = yield* waitingDevice(world, tv)
      yield* world.services.clients.change(world.workspace.id, ClientId.make(tv.id), (stored) => ({
        ...stored,
        grantTypes: ["client_credentials"]
      }))
      const page = yield* enterCode(world, userCode)
      expect([page.status, header(page, "location"), pageName(page)]).toEqual([400, undefined, "error-not-understood"])
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "UnauthorizedClient" })
    }))

  test("for another device to scan shows the code that it was asked for, and no other text", () =>
    inWorld(function* (world) {
      const drawn = yield* world.send("GET", "/device/code?user_code=wdjbmjht")
      expect([drawn.status, pageName(drawn)]).toEqual([200, "device-code"])
      expect(drawn.body).toContain(">WDJB-MJHT</strong>")
      expect(drawn.body).toContain("<svg")
      // RFC 8628 §5.4: a stranger's link may lead here, with a code of their own.
      expect(drawn.body).toContain('class="notice notice-caution"')
      expect(drawn.body).toContain(`QR code of ${issuer}/device?user_code=WDJB-MJHT`)
      expect(drawn.body.replaceAll("<wbr>", "")).toContain(`>${issuer}/device</strong>`)
      for (const query of ["", "?user_code=hello", "?code=WDJB-MJHT", "?user_code=<b>"]) {
        expect((yield* world.send("GET", `/device/code${query}`)).status).toBe(400)
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidRequest", reason: "malformed_parameter" })
      }
      expect(world.calls.get).toEqual([])
    }))
})
