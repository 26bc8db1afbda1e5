import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { Binding } from "../../core/grant/Binding.ts"
import { checkAccess } from "../../core/grant/check.ts"
import { type Active, Grant } from "../../core/grant/Grant.ts"
import { InvalidGrant, InvalidToken } from "../../core/rules/Refusal.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import {
  active,
  after,
  client,
  clientCredentials,
  fresh,
  me,
  pending,
  policy,
  presenting,
  proven,
  redeem,
  redemption,
  refresh,
  standing,
  t0
} from "./given.ts"

const key = Binding.make({ thumbprint: `${"k".repeat(42)}E` })
const other = Binding.make({ thumbprint: `${"o".repeat(42)}E` })
const secret = {
  ...me,
  client: client({ credential: { _tag: "Secret", digest: digestOf("s"), method: "client_secret_post" } })
}

const redeemed = (by: typeof me, binding: Binding | null) => {
  const { next, outcome } = redeem(pending(), by, redemption(), policy, t0, fresh, { binding })
  if (next?._tag !== "Active") throw new Error("not active")
  return { grant: next, access: Result.getOrThrow(outcome).access }
}
const refreshed = (grant: Active, by: typeof me, binding: Binding | null, generation?: number, now = t0) =>
  refresh(
    grant,
    by,
    { presented: presenting(grant, generation), scope: undefined, resources: null },
    policy,
    now,
    fresh,
    { binding }
  )
const differs = { next: undefined, outcome: Result.fail(new InvalidGrant({ reason: "binding_differs" })) }

describe("what a client proved to hold (RFC 9449, 8705)", () => {
  test("is in the access token, whichever grant type it came by", () => {
    expect(redeemed(me, key).access.binding).toEqual(key)
    expect(redeemed(me, null).access.binding).toBeNull()
    const own = clientCredentials(standing(), me, { scope: undefined, resources: null }, policy, t0, fresh, {
      binding: key
    })
    expect(Result.getOrThrow(own.outcome).access.binding).toEqual(key)
    const { outcome } = refreshed(redeemed(me, key).grant, me, key)
    expect(Result.getOrThrow(outcome).access.binding).toEqual(key)
  })

  test("is asked for where the access token is used: that, no other, and nothing where it is bound to nothing", () => {
    const { access, grant } = redeemed(me, key)
    const check = (bound: Binding | null, shown: Binding | null) =>
      checkAccess(WorkspaceId.make("home"), grant, me.client, { ...access, binding: bound }, shown, policy, t0)
    const refusal = Result.fail(new InvalidToken({ reason: "binding_differs" }))
    expect([check(key, key), check(null, null)].every(Result.isSuccess)).toBe(true)
    expect([check(key, null), check(key, other), check(null, key)]).toEqual([refusal, refusal, refusal])
  })

  test("binds a public client's whole line of refresh tokens", () => {
    const { grant } = redeemed(me, key)
    expect(grant.refresh.binding).toEqual(key)
    const { next } = refreshed(grant, me, key)
    expect(next).toMatchObject({ refresh: { generation: 2, binding: key } })
    expect([refreshed(grant, me, null), refreshed(grant, me, other)]).toEqual([differs, differs])
  })

  test("goes on binding the line of a client that has come by a secret since", () => {
    const { grant } = redeemed(me, key)
    const by = { ...proven(), ...secret }
    const { next } = refreshed(grant, by, key)
    expect(next).toMatchObject({ refresh: { generation: 2, binding: key } })
    expect([refreshed(grant, by, null), refreshed(grant, by, other)]).toEqual([differs, differs])
  })

  test("ends nothing where a spent refresh token comes without it", () => {
    const { grant } = redeemed(me, key)
    const late = { ...grant, refresh: { ...grant.refresh, generation: 5 } }
    expect(refreshed(late, me, null, 1, after(policy.refreshGrace))).toEqual(differs)
    expect(refreshed(late, me, key, 1, after(policy.refreshGrace)).next).toMatchObject({ _tag: "Revoked" })
  })

  test("does not bind the line of a client with a secret, which may bring another key each time", () => {
    const by = { ...proven(), ...secret }
    const { access, grant } = redeemed(by, key)
    expect([access.binding, "binding" in grant.refresh]).toEqual([key, false])
    expect(Result.getOrThrow(refreshed(grant, by, other).outcome).access.binding).toEqual(other)
  })

  test("is no member of a record that is bound to nothing, and of an older one neither", () => {
    const { grant } = redeemed(me, null)
    expect("binding" in grant.refresh).toBe(false)
    const read = (value: unknown) => Schema.decodeUnknownResult(Grant)(JSON.parse(JSON.stringify(value)))
    expect(read(active())).toEqual(Result.succeed(active()))
    const bound = redeemed(me, key).grant
    expect(read(bound)).toEqual(Result.succeed(bound))
    for (const thumbprint of ["", "short", `${"k".repeat(42)}F`, `${"k".repeat(43)}E`]) {
      expect(Result.isFailure(read({ ...bound, refresh: { ...bound.refresh, binding: { thumbprint } } }))).toBe(true)
    }
  })
})
