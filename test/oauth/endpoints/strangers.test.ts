import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { HttpResponse } from "../../../core/http/Http.ts"
import {
  authorizeTarget,
  decide,
  form,
  formHeaders,
  header,
  hiddenFields,
  prove,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, type World } from "../../given/World.ts"

const wrong = { scope: "openid" }

const ask = (world: World, client: TestClient, fields: Readonly<Record<string, string>> = {}, as?: string) =>
  world.send("GET", authorizeTarget(client, fields), as === undefined ? {} : { as })

const approveWith = (world: World, fields: Readonly<Record<string, string>>) =>
  world.send("POST", "/consent", {
    as: "alice",
    headers: formHeaders,
    body: form({ ...fields, decision: "approve" })
  })

const hasBox = ({ body }: HttpResponse) => /<input [^>]*name="acknowledged" type="checkbox"[^>]* required/.test(body)

/** As if an owner of the workspace had registered it. */
const ownersNow = (world: World, client: TestClient) =>
  Effect.andThen(
    prove(world, client),
    Effect.asVoid(
      Effect.flatMap(world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 }), ({ values }) =>
        Effect.forEach(values, ({ id }) =>
          world.services.clients.change(world.workspace.id, id, (stored) => ({
            ...stored,
            madeBy: "owner",
            provenAt: null
          }))
        )
      )
    )
  )

describe("a request that cannot be answered, of a client that registered itself and that no person has let in", () => {
  for (const as of [undefined, "alice"]) {
    test(`leads to a page with its host and a link, and never on by itself, ${as === undefined ? "before" : "after"} the sign-in`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world)
        const answer = yield* ask(world, client, wrong, as)
        expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
        expect(header(answer, "refresh")).toBeUndefined()
        expect(pageName(answer)).toBe("error-strangers-request")
        expect(answer.body.replaceAll("<wbr>", "")).toContain(new URL(client.redirectUri).host)
        const [, href = ""] = /<a class="button primary wide" href="([^"]*)"/.exec(answer.body) ?? []
        const back = new URL(href.replaceAll("&amp;", "&"))
        expect(back.href).toStartWith(`${client.redirectUri}?`)
        expect(Object.fromEntries(back.searchParams)).toEqual({
          error: "invalid_scope",
          error_description: expect.any(String),
          state: "st",
          iss: world.workspace.issuer
        })
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "InvalidScope" })
      }))
  }

  test("goes back at once after a person has let the client in, or where an owner answers for it", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = text(returned(yield* decide(world, yield* ask(world, client, {}, "alice"), "approve")).get("code"))
      expect((yield* ask(world, client, wrong)).status).toBe(400)
      expect((yield* redeem(world, client, code)).status).toBe(200)
      expect(returned(yield* ask(world, client, wrong)).get("error")).toBe("invalid_scope")

      const owners = yield* registerClient(world)
      yield* ownersNow(world, owners)
      expect(returned(yield* ask(world, owners, wrong)).get("error")).toBe("invalid_scope")
    }))
})

describe("consent for a client that registered itself and that no person has let in", () => {
  test("takes a tick, which the server looks for, and the page is there again without it", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const page = yield* ask(world, client, {}, "alice")
      expect(hasBox(page)).toBe(true)
      const { acknowledged: _, ...rest } = hiddenFields(page.body)
      for (const fields of [rest, { ...rest, acknowledged: "" }, { ...rest, acknowledged: "no" }]) {
        const again = yield* approveWith(world, fields)
        expect([again.status, header(again, "location"), pageName(again)]).toEqual([400, undefined, "consent"])
        expect(again.body).toContain('aria-invalid="true"')
        expect(hiddenFields(again.body)).toEqual({ ...rest, acknowledged: "yes" })
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "ForgedForm", reason: "field_missing" })
      }
      expect(world.calls.insert).toEqual(["limit", "client"])
      const done = yield* approveWith(world, { ...rest, acknowledged: "yes" })
      expect(returned(done).get("code")).not.toBeNull()
    }))

  test("takes none to say no", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { acknowledged: _, ...rest } = hiddenFields((yield* ask(world, client, {}, "alice")).body)
      const answer = yield* world.send("POST", "/consent", {
        as: "alice",
        headers: formHeaders,
        body: form({ ...rest, decision: "deny" })
      })
      expect(returned(answer).get("error")).toBe("access_denied")
    }))

  test("takes none any more once a person has let it in, or where an owner answers for it", () =>
    inWorld(function* (world) {
      for (const known of [prove, ownersNow]) {
        const client = yield* registerClient(world)
        yield* known(world, client)
        const page = yield* ask(world, client, {}, "alice")
        expect([page.status, hasBox(page)]).toEqual([200, false])
        expect(returned(yield* approveWith(world, hiddenFields(page.body))).get("code")).not.toBeNull()
      }
    }))
})
