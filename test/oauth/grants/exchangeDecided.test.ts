import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { DocumentAddress } from "../../../core/client/ClientIdentifier.ts"
import type { Binding } from "../../../core/grant/Binding.ts"
import type { Grant } from "../../../core/grant/Grant.ts"
import type { UserPrincipal, WorkspacePrincipal } from "../../../core/grant/Principal.ts"
import { revoked } from "../../../core/grant/revoke.ts"
import { tokenExchange } from "../../../core/oauth/grants/tokenExchange.ts"
import { ClientId, UserId } from "../../../core/rules/Id.ts"
import { InvalidScope, InvalidSubjectToken, InvalidTarget, UnauthorizedClient } from "../../../core/rules/Refusal.ts"
import { Resource } from "../../../core/rules/Resource.ts"
import type { Scopes } from "../../../core/rules/Scope.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import type { AccessToken } from "../../../core/token/Token.ts"
import { WorkspaceId } from "../../../core/workspace/Workspace.ts"
import {
  active,
  after,
  client,
  fresh,
  grantId,
  me,
  policy,
  proven,
  scopes,
  sentBy,
  standing,
  t0
} from "../../grant/given.ts"

/* What an exchange comes to over the wire stands in `tokenExchange.test.ts`; here is what its decision finds by then. */

const api = Resource.make("https://api.example")
const server = client({ id: ClientId.make("s".repeat(22)), serves: api })
const token = (over: Partial<AccessToken> = {}): AccessToken => ({
  kind: "access",
  grant: grantId,
  expiresAt: after(1000),
  epoch: 0,
  serial: "a".repeat(16),
  scope: null,
  resources: null,
  binding: null,
  actors: null,
  ...over
})
const common = {
  workspace: WorkspaceId.make("home"),
  scope: scopes("api", "profile"),
  grant: grantId,
  client: me.client.id,
  resources: [api],
  expiresAt: after(1000)
} as const
const person: UserPrincipal = { _tag: "User", user: UserId.make("alice"), ...common }
const machine: WorkspacePrincipal = { _tag: "Workspace", ...common }

interface Asked {
  readonly by?: typeof server
  readonly token?: AccessToken
  readonly principal?: UserPrincipal | WorkspacePrincipal
  readonly scope?: string
  readonly binding?: Binding | null
  readonly taken?: Scopes | null
}

const exchange = (found: Grant | undefined, asked: Asked = {}) =>
  tokenExchange.decide(found, {
    by: proven(asked.by ?? server),
    form: {
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      subject: { token: asked.token ?? token(), principal: asked.principal ?? person },
      ...(asked.scope === undefined ? {} : { scope: asked.scope })
    } as never,
    resources: null,
    taken: asked.taken ?? null,
    binding: asked.binding ?? null,
    markSender: sentBy({}),
    policy,
    now: t0,
    fresh
  })

const grant = active({ resources: [api] })
const refused = (fault: InvalidScope | InvalidSubjectToken | InvalidTarget | UnauthorizedClient) => ({
  next: undefined,
  outcome: Result.fail(fault)
})
const invalid = (reason: InvalidSubjectToken["reason"]) => refused(new InvalidSubjectToken({ reason }))

describe("an exchange, by what stands when it is decided", () => {
  test("gives a token of the same grant that names who acts, and ends no later than what was shown", () => {
    const { next, outcome } = exchange(grant)
    expect(next).toBeUndefined()
    expect(Result.getOrThrow(outcome)).toEqual({
      access: {
        ...token(),
        serial: fresh.serial,
        actors: [{ client: server.id, showed: "a".repeat(16) }]
      },
      refresh: null,
      scope: scopes("api", "profile"),
      actors: [server.id]
    })
    const brief = exchange(grant, { token: token({ expiresAt: after(policy.accessTtl + 5) }) })
    expect(Result.getOrThrow(brief.outcome).access.expiresAt).toBe(after(policy.accessTtl))
  })

  test("names who acts by what each goes by, where it was exchanged before", () => {
    const identifier = DocumentAddress.make("https://app.example/client.json")
    const by = { ...server, origin: { identifier, since: t0 } }
    const last = ClientId.make("l".repeat(22))
    const first = DocumentAddress.make("https://first.example/client.json")
    const { outcome } = exchange(grant, { by, principal: { ...person, client: last, actors: [last, first] } })
    expect(Result.getOrThrow(outcome).actors).toEqual([identifier, last, first])
  })

  test("is had for what an issuer asserted of a person, too", () => {
    const asserted = standing({ id: grantId, subject: { _tag: "User", id: person.user }, scope: person.scope })
    const { next, outcome } = exchange(asserted)
    expect(next).toBeUndefined()
    expect(Result.getOrThrow(outcome)).toMatchObject({
      access: { grant: grantId, resources: [api], actors: [{ client: server.id, showed: token().serial }] },
      refresh: null
    })
  })

  test("is refused where the client is no API any more", () => {
    const { serves: _, ...other } = server
    expect(exchange(grant, { by: other })).toEqual(refused(new UnauthorizedClient({ reason: "serves_no_resource" })))
  })

  test("is refused where the grant, or the token, has ended meanwhile", () => {
    expect(exchange(undefined)).toEqual(invalid("unknown"))
    expect(exchange(revoked(grant, "by_user", policy, t0))).toEqual(invalid("revoked"))
    expect(exchange(standing())).toEqual(invalid("revoked"))
    expect(exchange({ ...grant, access: { epoch: 1, revoked: [] } })).toEqual(invalid("revoked"))
    const one = { serial: "a".repeat(16), expiresAt: after(1000) }
    expect(exchange({ ...grant, access: { epoch: 0, revoked: [one] } })).toEqual(invalid("revoked"))
    expect(exchange(grant, { principal: machine })).toEqual(invalid("wrong_kind"))
  })

  test("of a token with a key takes its proof, and of one without takes any", () => {
    const [mine, other] = [{ thumbprint: digestOf("mine") }, { thumbprint: digestOf("another") }]
    const bound = token({ binding: mine })
    for (const binding of [null, other]) {
      expect(exchange(grant, { token: bound, binding })).toEqual(invalid("binding_differs"))
    }
    for (const [shown, binding] of [
      [bound, mine],
      [token(), mine],
      [token(), null]
    ] as const) {
      expect(Result.getOrThrow(exchange(grant, { token: shown, binding }).outcome).access.binding).toEqual(binding)
    }
  })

  test("is for scopes that the token, the client and its resource have", () => {
    const scopeOf = (asked: Asked) => Result.getOrThrow(exchange(grant, asked).outcome).scope
    expect(scopeOf({ by: { ...server, scope: scopes("profile") } })).toEqual(scopes("profile"))
    expect(scopeOf({ scope: "api" })).toEqual(scopes("api"))
    expect(scopeOf({ taken: scopes("api") })).toEqual(scopes("api"))
    expect(
      exchange(grant, { principal: { ...person, scope: scopes("profile") }, by: { ...server, scope: scopes("api") } })
    ).toEqual(refused(new InvalidScope({ reason: "none_to_be_had" })))
    expect(exchange(grant, { by: { ...server, scope: scopes("api") }, scope: "profile" })).toEqual(
      refused(new InvalidScope({ reason: "wider_than_granted" }))
    )
    expect(exchange(grant, { taken: scopes("other") })).toEqual(refused(new InvalidTarget({ reason: "takes_none" })))
  })
})
