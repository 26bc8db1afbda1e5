import { describe, expect, test } from "bun:test"
import { Redacted, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { identifierOf } from "../../core/client/Client.ts"
import { DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import { apiKeyPrefix, BadKeyTerms, isKeyText, makeKey, readKey, readKeyTerms } from "../../core/grant/apiKey.ts"
import { checkAccess, checkActors, checkKey, checkRefresh, signInOf } from "../../core/grant/check.ts"
import { type Grant, recordExpiry } from "../../core/grant/Grant.ts"
import { revoked, revokeGrant } from "../../core/grant/revoke.ts"
import { ClientId, PlaceId, UserId } from "../../core/rules/Id.ts"
import type { Instant } from "../../core/rules/Instant.ts"
import { InvalidToken } from "../../core/rules/Refusal.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { checksumLength, digestOf, hashOf } from "../../core/rules/Secret.ts"
import type { AccessToken } from "../../core/token/Token.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { withChecksum } from "../given/withChecksum.ts"
import {
  active,
  after,
  client,
  grantId,
  me,
  pending,
  policy,
  presenting,
  scopes,
  standing,
  stranger,
  t0
} from "./given.ts"

const home = WorkspaceId.make("home")
const token = (over: Partial<AccessToken> = {}): AccessToken => ({
  kind: "access",
  grant: grantId,
  expiresAt: after(policy.accessTtl),
  epoch: 0,
  serial: "0".repeat(16),
  scope: null,
  resources: null,
  binding: null,
  actors: null,
  ...over
})
const refusal = (reason: InvalidToken["reason"]) => Result.fail(new InvalidToken({ reason }))
const check = (grant: Parameters<typeof checkAccess>[1], of = token(), by = me.client, now = t0, rules = policy) =>
  checkAccess(home, grant, by, of, null, rules, now)

describe("checking an access token", () => {
  test("finds the person that it speaks for", () => {
    expect(check(active())).toEqual(
      Result.succeed({
        _tag: "User",
        user: UserId.make("alice"),
        workspace: home,
        scope: scopes("api", "profile"),
        grant: grantId,
        client: me.client.id,
        resources: null,
        expiresAt: after(policy.accessTtl)
      })
    )
  })

  test("finds the workspace where it speaks for no person", () => {
    const found = Result.getOrThrow(check(standing(), token({ grant: standing().id })))
    expect(found).toMatchObject({ _tag: "Workspace", client: me.client.id, scope: ["api"] })
    expect("user" in found).toBe(false)
  })

  test("believes the token only as far as the grant goes", () => {
    expect(Result.getOrThrow(check(active(), token({ scope: scopes("api") }))).scope).toEqual(scopes("api"))
    expect(check(active({ scope: scopes("api") }), token({ scope: scopes("profile") }))).toEqual(refusal("revoked"))
    const rest = Resource.make("https://auth.example.com/rest")
    expect(Result.getOrThrow(check(active({ resources: [rest] }))).resources).toEqual([rest])
    expect(Result.getOrThrow(check(active(), token({ resources: [rest] }))).resources).toEqual([rest])
  })

  test("ends at its expiry", () => {
    expect(Result.isSuccess(check(active(), token(), me.client, after(policy.accessTtl - 1)))).toBe(true)
    expect(check(active(), token(), me.client, after(policy.accessTtl))).toEqual(refusal("expired"))
  })

  test("dies with its grant, its epoch, its serial", () => {
    expect(check(undefined)).toEqual(refusal("unknown"))
    expect(check(pending())).toEqual(refusal("not_redeemed"))
    expect(check(revoked(active(), "by_user", policy, t0))).toEqual(refusal("revoked"))
    expect(check({ ...active(), access: { epoch: 1, revoked: [] } })).toEqual(refusal("revoked"))
    const one = { serial: token().serial, expiresAt: token().expiresAt }
    expect(check({ ...active(), access: { epoch: 0, revoked: [one] } })).toEqual(refusal("revoked"))
  })

  test("for the workspace, ends with the client's leave to act for it; for a person, it does not depend on that", () => {
    for (const workspaceAccess of ["approved", "owner"] as const) {
      const rules = { ...policy, workspaceAccess }
      const own = token({ grant: standing().id })
      expect(check(standing(), own, me.client, t0, rules)).toEqual(refusal("workspace_access_ended"))
      expect(Result.isSuccess(check(standing(), own, client({ madeBy: "owner" }), t0, rules))).toBe(true)
      expect(Result.isSuccess(check(active(), token(), me.client, t0, rules))).toBe(true)
    }
  })

  test("dies with its client: deleted, forgotten, disabled, or another's", () => {
    expect(checkAccess(home, active(), undefined, token(), null, policy, t0)).toEqual(refusal("client_gone"))
    expect(check(active(), token(), stranger.client)).toEqual(refusal("client_gone"))
    expect(check(active(), token(), client({ expiresAt: t0 }))).toEqual(refusal("client_gone"))
    expect(Result.isSuccess(check(active(), token(), client({ expiresAt: after(1) })))).toBe(true)
    expect(check(active(), token(), client({ disabled: true }))).toEqual(refusal("client_disabled"))
  })
})

describe("whom a token speaks for", () => {
  const place = PlaceId.make("org_7")
  const authentication = { at: after(-5), acr: "2", nonce: "n", amr: ["pwd"] }

  test("is the person, in the place and as signed in as the grant says, and nothing that it does not", () => {
    const { place: at, ...rest } = { ...active(), place, authentication }
    expect(Result.getOrThrow(check({ ...rest, place: at }))).toEqual({
      _tag: "User",
      user: UserId.make("alice"),
      workspace: home,
      scope: active().scope,
      grant: grantId,
      client: me.client.id,
      resources: null,
      expiresAt: token().expiresAt,
      place,
      authenticatedAt: after(-5),
      acr: "2"
    })
    expect(Object.keys(Result.getOrThrow(check(active())))).not.toContain("acr")
    expect(signInOf({})).toEqual({})
    expect(Object.keys(signInOf({ authentication: { nonce: "n" } }))).toEqual([])
  })

  test("is an application by what it goes by, and by its id where that is all there is", () => {
    const identifier = DocumentAddress.make("https://app.example/client.json")
    const brought = client({ origin: { identifier, since: t0 } })
    expect(Result.getOrThrow(check(active(), token(), brought)).client).toBe(identifier)
    expect(Result.getOrThrow(check(active())).client).toBe(me.client.id)
  })

  test("is told with who exchanged it, the last of them first, who is its client", () => {
    const actor = (letter: string, at: number) => ({
      client: ClientId.make(letter.repeat(22)),
      showed: `${at}`.repeat(16)
    })
    const actors = [actor("x", 0), actor("y", 1)] as const
    const found = Result.getOrThrow(check(active(), token({ actors })))
    expect(found).toMatchObject({ client: actors[0].client, actors: actors.map((one) => one.client) })
    expect("actors" in Result.getOrThrow(check(active()))).toBe(false)
  })

  test("names those who exchanged it by what they go by", () => {
    const serves = Resource.make("https://api.example")
    const identifier = DocumentAddress.make("https://app.example/client.json")
    const brought = client({ serves, origin: { identifier, since: t0 } })
    const drawn = client({ serves })
    const known = Result.getOrThrow(check(active()))
    for (const [first, last] of [
      [brought, drawn],
      [drawn, brought]
    ] as const) {
      const actors = [last, first].map(identifierOf)
      expect<unknown>(Result.getOrThrow(checkActors(known, [last, first], t0))).toEqual({
        ...known,
        client: identifierOf(last),
        actors
      })
    }
  })

  test("needs all clients there that exchanged it, and let to exchange", () => {
    const serves = Resource.make("https://api.example")
    const good = client({ serves })
    const known = Result.getOrThrow(check(active()))
    const rows = [
      [[], undefined],
      [[good, good], undefined],
      [[good, undefined], "client_gone"],
      [[good, client({ serves, expiresAt: after(5) })], "client_gone"],
      [[client({ serves, expiresAt: after(6) })], undefined],
      [[client({ serves, disabled: true })], "client_disabled"],
      [[client(), good], "exchange_ended"]
    ] as const
    for (const [actors, reason] of rows) {
      const named = Result.succeed({ ...known, actors: actors.map(() => good.id) })
      expect(checkActors(known, actors, after(5))).toEqual(reason === undefined ? named : refusal(reason))
    }
  })
})

describe("checking a refresh token, for introspection", () => {
  const grant = { ...active(), refresh: { ...active().refresh, generation: 3 } }
  const worth = (of: Grant | undefined, generation = 3, at = t0, by = me.client) =>
    checkRefresh(of, by, presenting(grant, generation), policy, at)

  test("the current one counts, until its line or itself expires", () => {
    expect(worth(grant)).toEqual(Result.succeed(grant))
    expect(worth(grant, 4)).toEqual(refusal("revoked"))
    expect(worth(grant, 3, grant.refresh.expiresAt)).toEqual(refusal("expired"))
    const shorter = { ...grant, refresh: { ...grant.refresh, expiresAt: after(10) } }
    expect(Result.isSuccess(worth(shorter, 3, after(9)))).toBe(true)
    expect(worth(shorter, 3, after(10))).toEqual(refusal("expired"))
    // A token ends by itself, though its line goes on.
    const early = { ...presenting(grant, 3), expiresAt: after(10) }
    const worthEarly = (at: Instant) => checkRefresh(grant, me.client, early, policy, at)
    expect([worthEarly(after(9)), worthEarly(after(10))]).toEqual([Result.succeed(grant), refusal("expired")])
    expect(worth(undefined)).toEqual(refusal("unknown"))
    expect(worth(standing())).toEqual(refusal("wrong_kind"))
  })

  test("the one before it counts within the grace, as at the token endpoint", () => {
    expect(worth(grant, 2)).toEqual(Result.succeed(grant))
    expect(worth(grant, 2, after(policy.refreshGrace - 1))).toEqual(Result.succeed(grant))
    expect(worth(grant, 2, after(policy.refreshGrace))).toEqual(refusal("revoked"))
    expect(worth(grant, 1)).toEqual(refusal("revoked"))
  })

  test("none counts whose client may not refresh any more", () => {
    const changed = client({ grantTypes: ["authorization_code"] })
    expect(worth(grant, 3, t0, changed)).toEqual(refusal("grant_type_not_registered"))
  })
})

describe("API keys", () => {
  const secret = new Uint8Array(32).fill(7)
  const make = (expiresAt: typeof t0 | null = null) =>
    makeKey({ name: "nightly", expiresAt }, grantId, secret, policy, t0)
  const text = Redacted.value(make().text)

  test("are a grant of the workspace with every scope, of which only the digest is kept", () => {
    expect(make().grant).toEqual({
      _tag: "Key",
      id: grantId,
      subject: { _tag: "Workspace" },
      scope: scopes("api", "profile"),
      resources: null,
      createdAt: t0,
      name: "nightly",
      hint: text.slice(0, 11),
      digest: digestOf(text),
      use: "everything",
      expiresAt: null
    })
    expect(text).toStartWith(apiKeyPrefix)
    expect(Result.getOrThrow(Base64Url.decode(text.slice(apiKeyPrefix.length, -checksumLength))).slice(16)).toEqual(
      secret
    )
    expect(isKeyText(text)).toBe(true)
    expect(isKeyText("tsr_at_x")).toBe(false)
  })

  test("lead back to their grant, unless they are cut, changed or no keys at all", () => {
    expect(readKey(text)).toBe(grantId)
    const changed = `${text.slice(0, 20)}${text[20] === "A" ? "B" : "A"}${text.slice(21)}`
    const whole = text.slice(0, -checksumLength)
    for (const bad of [
      text.slice(0, -1),
      `${text}A`,
      changed,
      "",
      apiKeyPrefix,
      withChecksum(`${whole}AAAA`),
      withChecksum(whole.slice(0, -4)),
      withChecksum(`${whole.slice(0, -1)}!`)
    ]) {
      expect(readKey(bad)).toBeUndefined()
    }
  })

  test("admit their bearer, until they expire", () => {
    const found = checkKey(home, make().grant, hashOf(text), t0)
    expect(Result.getOrThrow(found)).toMatchObject({
      _tag: "ApiKey",
      name: "nightly",
      scope: ["api", "profile"],
      expiresAt: null
    })
    const brief = make(after(10)).grant
    expect(Result.isSuccess(checkKey(home, brief, hashOf(text), after(9)))).toBe(true)
    expect(checkKey(home, brief, hashOf(text), after(10))).toEqual(refusal("expired"))
  })

  test("are refused when the secret is wrong, the key revoked, or the grant no key's", () => {
    expect(checkKey(home, make().grant, hashOf("else"), t0)).toEqual(refusal("bad_secret"))
    expect(checkKey(home, undefined, hashOf(text), t0)).toEqual(refusal("unknown"))
    expect(checkKey(home, active(), hashOf(text), t0)).toEqual(refusal("wrong_kind"))
    const { next } = revokeGrant(make().grant, "by_owner", policy, t0)
    expect(next).toMatchObject({ client: null, endsAt: null })
    expect(checkKey(home, next, hashOf(text), t0)).toEqual(refusal("revoked"))
  })

  test("are named and timed as a list can show it", () => {
    const read = (name: string, lasts?: number) => readKeyTerms({ name, lasts }, policy.scopes)
    const reach = { use: "everything", scope: scopes("api", "profile") } as const
    expect(read(" job ", 1.5)).toEqual(Result.succeed({ name: "job", lasts: 1, reach }))
    expect(read("job")).toEqual(Result.succeed({ name: "job", lasts: undefined, reach }))
    for (const none of ["", "  ", "\u0000"]) {
      expect(read(none)).toEqual(Result.fail(new BadKeyTerms({ reason: "no_name" })))
    }
  })

  test("never pass for an access token's grant", () => {
    expect(check(make().grant)).toEqual(refusal("wrong_kind"))
  })

  test("are kept for a day after they expire, or for good", () => {
    expect(recordExpiry(make().grant, policy.accessTtl)).toBeNull()
    expect(recordExpiry(make(after(10)).grant, policy.accessTtl)).toBe(after(10 + 24 * 60 * 60 * 1000))
  })
})
