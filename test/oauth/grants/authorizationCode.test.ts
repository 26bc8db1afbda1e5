import { describe, expect, test } from "bun:test"
import { Option, Result } from "effect"
import { codeOf } from "../../../core/grant/begin.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { CodeChallenge, readVerifier } from "../../../core/rules/Pkce.ts"
import { RedirectUri } from "../../../core/rules/RedirectUri.ts"
import { InvalidGrant, InvalidTarget } from "../../../core/rules/Refusal.ts"
import { Resource } from "../../../core/rules/Resource.ts"
import type { Scopes } from "../../../core/rules/Scope.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import {
  active,
  after,
  client,
  fresh,
  key,
  me,
  pending,
  policy,
  proven,
  redeem,
  redemption,
  scopes,
  standing,
  stranger,
  t0,
  verifier
} from "../../grant/given.ts"

const { redirectUri: _, ...ofDevice } = pending()
/** What a device fetches, for which there is no code. */
const fetched = { ...ofDevice, codeExpiresAt: after(600_000) }

const refusal = (reason: InvalidGrant["reason"]) => Result.fail(new InvalidGrant({ reason }))
/** A refusal that ends the grant says which one that was. */
const ending = (reason: InvalidGrant["reason"]) => Result.fail(new InvalidGrant({ reason, ended: "gggggggg" }))
const unchanged = (reason: InvalidGrant["reason"]) => ({ next: undefined, outcome: refusal(reason) })

describe("a grant with its code out", () => {
  test("keeps what was approved, and lives as long as the code", () => {
    expect(pending()).toMatchObject({
      _tag: "Pending",
      client: me.client.id,
      subject: { _tag: "User", id: "alice" },
      createdAt: t0,
      codeExpiresAt: after(policy.codeTtl)
    })
    expect(codeOf(pending())).toEqual({ kind: "code", grant: pending().id, expiresAt: after(policy.codeTtl) })
  })
})

describe("redeeming a code (RFC 6749 §4.1.3)", () => {
  test("makes the grant active, with its first refresh token", () => {
    const { next } = redeem(pending(), me, redemption(), policy, after(7), fresh)
    const { id, client, subject, scope, resources, createdAt, challenge } = pending()
    expect(next).toEqual({
      _tag: "Active",
      id,
      client,
      subject,
      scope,
      resources,
      createdAt,
      challenge,
      access: { epoch: 0, revoked: [] },
      refresh: {
        generation: 1,
        issuedAt: after(7),
        expiresAt: after(7 + policy.refreshIdleTtl),
        key: fresh.key,
        rotatedBy: null
      },
      retriedElsewhereAt: null,
      endsAt: after(policy.refreshMaxTtl)
    })
  })

  test("hands out an access and a refresh token for all that was approved", () => {
    const { next, outcome } = redeem(pending(), me, redemption(), policy, after(7), fresh)
    expect(Result.getOrThrow(outcome)).toEqual({
      access: {
        kind: "access",
        grant: pending().id,
        expiresAt: after(7 + policy.accessTtl),
        epoch: 0,
        serial: fresh.serial,
        scope: null,
        resources: null,
        binding: null,
        actors: null
      },
      refresh: {
        token: { kind: "refresh", grant: pending().id, expiresAt: after(7 + policy.refreshIdleTtl), generation: 1 },
        key: fresh.key
      },
      scope: scopes("api", "profile")
    })
    expect(next?._tag).toBe("Active")
  })

  test("never outlives the grant's end, however short that is", () => {
    const { next } = redeem(pending(), me, redemption(), { ...policy, refreshMaxTtl: 1000 }, after(7), fresh)
    expect(next).toMatchObject({ refresh: { expiresAt: after(1000) }, endsAt: after(1000) })
  })

  const wrong = Option.getOrThrow(readVerifier("w".repeat(43)))

  test("a second time with the verifier ends the grant, whatever else comes with the code", () => {
    for (const [grant, command] of [
      [active(), redemption()],
      [active(), redemption({ redirectUri: "https://evil.example" })],
      // Without PKCE the code is all that there is to show; and an older release kept no challenge.
      [{ ...active(), challenge: null }, redemption()],
      [{ ...active(), challenge: null }, redemption({ verifier: undefined })]
    ] as const) {
      const { next, outcome } = redeem(grant, me, command, policy, after(9), fresh)
      expect(next).toMatchObject({ _tag: "Revoked", why: "code_replayed", revokedAt: after(9) })
      expect(outcome).toEqual(ending("code_replayed"))
    }
  })

  test("a second time without the verifier is refused, and ends nothing", () => {
    for (const command of [redemption({ verifier: undefined }), redemption({ verifier: wrong })]) {
      expect(redeem(active(), me, command, policy, after(9), fresh)).toEqual(
        unchanged("code_replayed_without_verifier")
      )
    }
  })

  test("by another client changes nothing, before and after the owner did", () => {
    for (const grant of [pending(), active(), revoked(active(), "by_user", policy, t0)]) {
      expect(redeem(grant, stranger, redemption(), policy, t0, fresh)).toEqual(unchanged("other_client"))
    }
  })

  test("is refused for a grant that ended or never had a code", () => {
    expect(redeem(revoked(active(), "by_user", policy, t0), me, redemption(), policy, t0, fresh)).toEqual(
      unchanged("revoked")
    )
    for (const other of [standing(), key()]) {
      expect(redeem(other, me, redemption(), policy, t0, fresh)).toEqual(unchanged("wrong_kind"))
    }
  })

  test("is refused where no code of it is out: no grant, one of another kind, or one that a device fetches", () => {
    expect(redeem(undefined, me, redemption(), policy, t0, fresh)).toEqual(unchanged("unknown"))
    for (const other of [standing(), key(), fetched]) {
      expect(redeem(other, me, redemption(), policy, t0, fresh)).toEqual(unchanged("wrong_kind"))
    }
  })

  test("is refused where the client took back the address that it was sent to", () => {
    for (const redirectUris of [[], [RedirectUri.make("https://app.example.org/cb/")]]) {
      const by = proven(client({ redirectUris }))
      expect(redeem(pending(), by, redemption(), policy, t0, fresh)).toEqual(unchanged("redirect_uri_differs"))
    }
  })

  test("that names a key takes its proof (RFC 9449 §10)", () => {
    const [mine, other] = [{ thumbprint: digestOf("mine") }, { thumbprint: digestOf("another") }]
    const bound = pending({ binding: mine })
    for (const binding of [null, other]) {
      expect(redeem(bound, me, redemption(), policy, t0, fresh, { binding })).toEqual(unchanged("binding_differs"))
    }
    const { next, outcome } = redeem(bound, me, redemption(), policy, t0, fresh, { binding: mine })
    expect(next).toMatchObject({ _tag: "Active", refresh: { binding: mine } })
    expect(Result.getOrThrow(outcome).access.binding).toEqual(mine)
    // One that names none takes any, or none.
    for (const binding of [null, mine]) {
      const { outcome } = redeem(pending(), me, redemption(), policy, t0, fresh, { binding })
      expect(Result.getOrThrow(outcome).access.binding).toEqual(binding)
    }
  })

  test("has the scopes that its resource takes, and is refused where that takes none", () => {
    const of = (taken: Scopes) => redeem(pending(), me, redemption(), policy, t0, fresh, { taken })
    expect(Result.getOrThrow(of(scopes("profile")).outcome)).toMatchObject({ scope: ["profile"] })
    expect(of(scopes("other"))).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidTarget({ reason: "takes_none" }))
    })
  })

  test("takes the redirect URI of the request, character by character", () => {
    const elsewhere = redemption({ redirectUri: "https://app.example.org/cb/" })
    expect(redeem(pending(), me, elsewhere, policy, t0, fresh)).toEqual(unchanged("redirect_uri_differs"))
  })

  test("narrows the access token to a resource within the approved one, and no other", () => {
    const rest = Resource.make("https://auth.example.com/rest")
    const narrowed = redeem(pending(), me, redemption({ resources: [rest] }), policy, t0, fresh)
    expect(Result.getOrThrow(narrowed.outcome).access.resources).toEqual([rest])
    expect(narrowed.next?.resources).toBeNull()
    const bound = pending({ resources: [rest] })
    expect(Result.getOrThrow(redeem(bound, me, redemption(), policy, t0, fresh).outcome).access.resources).toBeNull()
    const other = redemption({ resources: [Resource.make("https://auth.example.com/metadata")] })
    expect(redeem(bound, me, other, policy, t0, fresh)).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))
    })
  })
})

describe("PKCE (RFC 7636), S256 only", () => {
  test("takes the verifier of the challenge, and no other", () => {
    const wrong = Option.getOrThrow(readVerifier("w".repeat(43)))
    expect(redeem(pending(), me, redemption({ verifier: wrong }), policy, t0, fresh)).toEqual(
      unchanged("verifier_wrong")
    )
    expect(Result.isSuccess(redeem(pending(), me, redemption(), policy, t0, fresh).outcome)).toBe(true)
  })

  test("never takes the challenge itself for a verifier", () => {
    const plain = pending({ challenge: CodeChallenge.make(digestOf("s".repeat(43))) })
    const asPlain = Option.getOrThrow(readVerifier(String(plain.challenge)))
    expect(redeem(plain, me, redemption({ verifier: asPlain }), policy, t0, fresh)).toEqual(unchanged("verifier_wrong"))
  })

  test("cannot be talked away: a challenge needs its verifier, a verifier its challenge", () => {
    expect(redeem(pending(), me, redemption({ verifier: undefined }), policy, t0, fresh)).toEqual(
      unchanged("verifier_missing")
    )
    const without = pending({ challenge: null })
    expect(redeem(without, me, redemption({ verifier }), policy, t0, fresh)).toEqual(unchanged("verifier_unexpected"))
    expect(Result.isSuccess(redeem(without, me, redemption({ verifier: undefined }), policy, t0, fresh).outcome)).toBe(
      true
    )
  })
})
