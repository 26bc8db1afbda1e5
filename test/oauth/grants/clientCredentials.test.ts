import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { endOf, type Grant } from "../../../core/grant/Grant.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { InvalidScope, UnauthorizedClient } from "../../../core/rules/Refusal.ts"
import { Resource, type Resources } from "../../../core/rules/Resource.ts"
import type { Scopes } from "../../../core/rules/Scope.ts"
import {
  active,
  after,
  client,
  clientCredentials,
  fresh,
  me,
  policy,
  proven,
  scopes,
  standing,
  t0
} from "../../grant/given.ts"

const ask = (
  grant: Grant | undefined,
  command: { readonly scope?: string; readonly resources?: Resources } = {},
  by = me,
  rules = policy
) => clientCredentials(grant, by, { scope: undefined, resources: null, ...command }, rules, t0, fresh)

describe("client credentials (RFC 6749 §4.4)", () => {
  test("are for the scopes that their resource takes, of those that a machine may have", () => {
    const of = (taken: Scopes) =>
      clientCredentials(undefined, me, { scope: undefined, resources: null }, policy, t0, fresh, { taken })
    expect(Result.getOrThrow(of(scopes("api", "profile")).outcome).scope).toEqual(scopes("api"))
    expect(of(scopes("profile"))).toEqual({
      next: undefined,
      outcome: Result.fail(new InvalidScope({ reason: "none_to_be_had" }))
    })
  })

  test("make the client's workspace grant the first time", () => {
    const { next, outcome } = ask(undefined)
    expect(next).toEqual({
      _tag: "Standing",
      id: me.client.workspaceGrant,
      client: me.client.id,
      subject: { _tag: "Workspace" },
      scope: scopes("api"),
      resources: null,
      createdAt: t0,
      access: { epoch: 0, revoked: [] }
    })
    expect(Result.getOrThrow(outcome)).toEqual({
      access: {
        kind: "access",
        grant: me.client.workspaceGrant,
        expiresAt: after(policy.accessTtl),
        epoch: 0,
        serial: fresh.serial,
        scope: scopes("api"),
        resources: null,
        binding: null,
        actors: null
      },
      refresh: null,
      scope: scopes("api")
    })
  })

  test("write nothing from then on, and hand out tokens of the grant's epoch", () => {
    const { next, outcome } = ask(standing({ access: { epoch: 4, revoked: [] } }))
    expect(next).toBeUndefined()
    expect(Result.getOrThrow(outcome).access.epoch).toBe(4)
  })

  test("never have a scope that speaks of a person, and are refused that alone", () => {
    expect(Result.getOrThrow(ask(standing(), { scope: "api profile" }).outcome).scope).toEqual(scopes("api"))
    const refused = { next: undefined, outcome: Result.fail(new InvalidScope({ reason: "none_to_be_had" })) }
    for (const grant of [undefined, standing()]) expect(ask(grant, { scope: "profile" })).toEqual(refused)
    expect(ask(undefined, {}, proven(client({ scope: scopes("profile") })))).toEqual(refused)
  })

  test("narrow the token to a scope or a resource, never the grant", () => {
    const wide = {
      ...policy,
      scopes: [
        ...policy.scopes,
        { name: scopes("files")[0] ?? policy.scopes[0].name, meaning: "Files", needsUser: false, byDefault: false }
      ] as const
    }
    const by = proven(client({ scope: scopes("api", "files") }))
    const { next, outcome } = ask(undefined, { scope: "files" }, by, wide)
    expect(next).toMatchObject({ scope: ["api", "files"], resources: null })
    expect(Result.getOrThrow(outcome)).toMatchObject({ scope: ["files"], access: { scope: ["files"] } })
    const rest = Resource.make("https://auth.example.com/rest")
    const narrowed = ask(standing(), { resources: [rest] })
    expect(narrowed.next).toBeUndefined()
    expect(Result.getOrThrow(narrowed.outcome).access.resources).toEqual([rest])
  })

  test("let the grant grow with a client that registered for more since", () => {
    const nothingYet = standing({ scope: scopes(), access: { epoch: 2, revoked: [] } })
    const { next, outcome } = ask(nothingYet)
    expect(next).toEqual({ ...nothingYet, scope: scopes("api") })
    expect(Result.getOrThrow(outcome)).toMatchObject({ scope: ["api"], access: { scope: ["api"], epoch: 2 } })
  })

  test("take an owner who answers for the client, where the policy says so", () => {
    const strict = { ...policy, workspaceAccess: "owner" as const }
    const refused = { next: undefined, outcome: Result.fail(new UnauthorizedClient({ reason: "no_owner_answers" })) }
    for (const grant of [undefined, standing()]) expect(ask(grant, {}, me, strict)).toEqual(refused)
    const answered = proven(client({ madeBy: "owner" }))
    expect(Result.getOrThrow(ask(undefined, {}, answered, strict).outcome).scope).toEqual(scopes("api"))
  })

  test("give the grant as long as its client is kept, and write that once a day", () => {
    const day = 24 * 60 * 60 * 1000
    const { unusedClientTtl } = policy
    const onTrial = proven(client({ expiresAt: after(1) }))
    const until = (at: number) => standing({ expiresAt: after(at) })
    expect(ask(undefined, {}, onTrial).next).toEqual(until(unusedClientTtl))
    expect(ask(standing(), {}, onTrial).next).toEqual(until(unusedClientTtl))
    expect(ask(until(unusedClientTtl - day + 1), {}, onTrial).next).toBeUndefined()
    expect(ask(until(unusedClientTtl - day), {}, onTrial).next).toEqual(until(unusedClientTtl))
  })

  test("have a grant for good with a client that is kept for good, such as one that an older release took for proven", () => {
    for (const over of [
      { provenAt: t0, expiresAt: null },
      { madeBy: "owner", expiresAt: null }
    ] as const) {
      const by = proven(client(over))
      expect(ask(standing(), {}, by).next).toBeUndefined()
      expect(ask(standing({ expiresAt: after(1) }), {}, by).next).toEqual(standing())
    }
  })

  test("leave a grant that lasts as long as the last token, and one that is revoked for good", () => {
    const kept = standing({ expiresAt: after(5) })
    expect([endOf(standing(), 100), endOf(kept, 100)]).toEqual([null, after(105)])
    expect(revoked(kept, "by_owner", policy, t0).endsAt).toBeNull()
  })

  test("are refused once the client's workspace grant has been revoked", () => {
    const over = {
      next: undefined,
      outcome: Result.fail(new UnauthorizedClient({ reason: "workspace_grant_revoked" }))
    }
    expect(ask(revoked(standing(), "by_owner", policy, t0))).toEqual(over)
    expect(ask(active())).toEqual(over)
  })
})
