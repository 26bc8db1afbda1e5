import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { longestSealed, sealedPrefix } from "../../../core/client/ClientIdentifier.ts"
import { deviceGrant } from "../../../core/client/Profile.ts"
import { readUserCode } from "../../../core/rules/UserCode.ts"
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
  challenge,
  companies,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  provenClient,
  refresh,
  registerClient,
  text,
  tokensOf,
  verifier
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, realSignatures, theWorkspace } from "../../given/World.ts"

const { issuer } = theWorkspace

describe("a device", () => {
  test("asks, shows a code, and has its tokens once a person approved", () =>
    inWorld((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("learns that its person denied it, and that nobody came", () =>
    inWorld((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("may prove itself by PKCE, and then has to", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const tv = yield* deviceClient(world)
        const asked = { code_challenge: challenge, code_challenge_method: "S256" }
        const told = yield* waitingDevice(world, tv, asked)
        yield* answerAs(world, told.userCode, "approve")
        expect(yield* polledAs(world, tv, told)).toBe("invalid_grant")
        expect(yield* polledAs(world, tv, told, { code_verifier: verifier })).toBe("tokens")
      })
    ))

  test("is for a resource, and for fewer when it fetches its tokens", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const tv = yield* deviceClient(world)
        const told = yield* waitingDevice(world, tv, { resource: `${issuer}/rest` })
        yield* answerAs(world, told.userCode, "approve")
        expect(yield* polledAs(world, tv, told, { resource: issuer })).toBe("invalid_target")
        expect(yield* polledAs(world, tv, told, { resource: `${issuer}/rest/companies` })).toBe("tokens")
        expect(jsonOf(yield* askForDevice(world, tv, { resource: "https://evil.example" })).error).toBe(
          "invalid_target"
        )
      })
    ))

  test("proves its secret, where it has one", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const box = yield* deviceClient(world, { token_endpoint_auth_method: "client_secret_post" })
        const told = yield* waitingDevice(world, box)
        const bare = { ...box, secret: undefined }
        expect((yield* askForDevice(world, bare)).status).toBe(401)
        yield* answerAs(world, told.userCode, "approve")
        expect((yield* poll(world, bare, told)).status).toBe(401)
        expect(yield* polledAs(world, box, told)).toBe("tokens")
      })
    ))

  test("is served to clients that registered for it, where it is served at all", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const web = yield* Effect.orDie(provenClient(world))
        expect(jsonOf(yield* askForDevice(world, web)).error).toBe("unauthorized_client")
        const fapi = yield* world.send("POST", "/oauth/register", {
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ grant_types: [deviceGrant], security_profile: "fapi2" })
        })
        expect([fapi.status, jsonOf(fapi).error]).toEqual([400, "invalid_client_metadata"])
        const both = yield* registerClient(world, { grant_types: [deviceGrant, "authorization_code"] })
        expect((yield* askForDevice(world, both)).status).toBe(200)
        const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
        expect(metadata.device_authorization_endpoint).toBe(`${issuer}/oauth/device_authorization`)
        expect(metadata.grant_types_supported).toContain(deviceGrant)
      })
    ))

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
        (world) =>
          Effect.gen(function* () {
            const sealed = yield* deviceClient(world)
            const tv = by === "a document" ? { ...sealed, id: address } : sealed
            expect([sealed.id.startsWith(sealedPrefix), sealed.id.length <= longestSealed]).toEqual([true, true])
            const rows = () =>
              Effect.map(
                world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 }),
                ({ values }) => values.map(({ origin }) => String(origin?.identifier))
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
          }),
        { documents: web.layer(), policy: { registrationRows: "at_consent" } }
      )
    }
  )

  for (const policy of [{ devices: false }, { profile: "fapi2" as const }]) {
    test(`is told nothing by a server that serves none: ${JSON.stringify(policy)}`, () =>
      inWorld(
        (world) =>
          Effect.gen(function* () {
            const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
            expect(metadata.device_authorization_endpoint).toBeUndefined()
            expect(metadata.grant_types_supported).not.toContain(deviceGrant)
            expect((yield* world.send("POST", "/oauth/device_authorization")).status).toBe(404)
            expect((yield* world.send("GET", "/device", { as: "alice" })).status).toBe(404)
          }),
        { policy, signatures: realSignatures }
      ))
  }
})

describe("the page for codes", () => {
  test("is for who is signed in, and keeps a code that a link brought", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const tv = yield* deviceClient(world)
        const { complete, userCode } = yield* waitingDevice(world, tv)
        const target = complete.slice(issuer.length)
        const out = yield* world.send("GET", target)
        expect(new URL(text(header(out, "location")), issuer).searchParams.get("return_to")).toBe(target)
        const drawn = yield* world.send("GET", target, { as: "alice" })
        expect([drawn.status, pageName(drawn)]).toEqual([200, "device"])
        // A link fills in the code, and neither goes on by itself nor says whether a device waits.
        expect(drawn.body).toContain(`value="${userCode}"`)
        expect(pageName(yield* world.send("GET", "/device?user_code=BBBB-BBBB", { as: "alice" }))).toBe("device")
      })
    ))

  test("takes a code in any writing, and says of every other the same", () =>
    inWorld((world) =>
      Effect.gen(function* () {
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
        const bodies = new Set<string>()
        for (const wrong of ["", "BCDF-GHJK", letters.slice(1), "AEIO-UAEI", "x".repeat(9000)]) {
          const page = yield* enterCode(world, wrong)
          expect([page.status, pageName(page)]).toEqual([400, "device"])
          bodies.add(page.body.replace(/ (value|href)="[^"]*"/g, "").replace(/ autofocus/g, ""))
        }
        expect(bodies.size).toBe(1)
        expect(world.audit.filter(({ event }) => event._tag === "Refused")).toHaveLength(5)
        // What was answered or came too late waits no more, and is told like what was never there.
        for (const decision of ["approve", "deny", undefined] as const) {
          const { userCode: spent } = yield* waitingDevice(world, tv)
          if (decision === undefined) yield* TestClock.adjust("10 minutes")
          else yield* answerAs(world, spent, decision)
          const page = yield* enterCode(world, spent)
          expect([page.status, pageName(page)]).toEqual([400, "device"])
        }
        const reasons = world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))
        expect(reasons.slice(5)).toEqual(["answered", "answered", "expired"])
      })
    ))

  test("is drawn for other devices to scan, whatever the code", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const page = yield* world.send("GET", "/device/code?user_code=wdjbmjht")
        expect([page.status, pageName(page)]).toEqual([200, "device-code"])
        expect(page.body).toContain("WDJB-MJHT")
        expect(page.body).toContain("<svg")
        expect((yield* world.send("GET", "/device/code?user_code=<b>")).status).toBe(400)
        expect(world.calls.get).toEqual([])
      })
    ))

  test("refuses a form of another session", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const tv = yield* deviceClient(world)
        const { userCode } = yield* waitingDevice(world, tv)
        const drawn = yield* world.send("GET", "/device", { as: "alice" })
        const body = form({ ...hiddenFields(drawn.body), user_code: userCode })
        const posted = yield* world.send("POST", "/device", { as: "mallory", headers: formHeaders, body })
        expect(posted.status).toBe(403)
        expect((yield* world.send("POST", "/device", { headers: formHeaders, body })).status).toBe(303)
      })
    ))
})

test("a code is read without case, blanks and dashes", () => {
  expect(String(readUserCode("wdjb mjht"))).toBe("WDJBMJHT")
  for (const text of ["WDJB-MJH", "WDJB-MJHTT", "WDJB-MJH0", "WDJB_MJHT", "WDJB-MJHA"]) {
    expect(readUserCode(text)).toBeUndefined()
  }
})
