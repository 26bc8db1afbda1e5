import { Result } from "effect"
import { type AuthenticatedClient, authenticate } from "../../core/client/authenticate.ts"
import type { Client } from "../../core/client/Client.ts"
import { makeKey } from "../../core/grant/apiKey.ts"
import { type Approved, begin } from "../../core/grant/begin.ts"
import type { Active, Grant, Key, Pending, Standing } from "../../core/grant/Grant.ts"
import type { Fresh } from "../../core/grant/issue.ts"
import { type Redeem, redeem } from "../../core/oauth/grants/authorizationCode.ts"
import { ClientId, GrantId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { CodeChallenge, CodeVerifier } from "../../core/rules/Pkce.ts"
import { type Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectTarget, RedirectUri } from "../../core/rules/RedirectUri.ts"
import { ScopeName, Scopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { RefreshToken } from "../../core/token/Token.ts"

export const policy: Policy = standardPolicy
export const t0 = Instant.make(1_900_000_000_000)
export const after = (millis: number): Instant => Instant.make(t0 + millis)

export const fresh: Fresh = { serial: "0123456789abcdef", key: "11223344" }
export const fresher: Fresh = { serial: "fedcba9876543210", key: "55667788" }

const idOf = (letter: string) => letter.repeat(22)
export const scopes = (...names: ReadonlyArray<string>): Scopes =>
  Scopes.make(names.map((name) => ScopeName.make(name)))

export const client = (over: Partial<Client> = {}): Client => ({
  id: ClientId.make(idOf("c")),
  about: {},
  credential: { _tag: "Public" },
  registration: digestOf("registration"),
  redirectUris: [RedirectUri.make("https://app.example.org/cb")],
  grantTypes: ["authorization_code", "refresh_token"],
  scope: scopes("api", "profile"),
  workspaceGrant: GrantId.make(idOf("w")),
  createdAt: t0,
  madeBy: "itself",
  provenAt: null,
  expiresAt: null,
  disabled: false,
  ...over
})

export const proven = (of: Client = client()): AuthenticatedClient =>
  Result.getOrThrow(authenticate({ ...of, credential: { _tag: "Public" } }, true, Result.void, false))

export const me = proven()
export const stranger = proven(client({ id: ClientId.make(idOf("x")) }))

export const verifier = CodeVerifier.make("v".repeat(43))
export const approved = (over: Partial<Approved> = {}): Approved => ({
  client: me.client.id,
  user: UserId.make("alice"),
  redirectUri: RedirectTarget.make("https://app.example.org/cb"),
  challenge: CodeChallenge.make(digestOf(verifier)),
  scope: scopes("api", "profile"),
  resource: null,
  ...over
})

export const grantId = GrantId.make(idOf("g"))
export const pending = (over: Partial<Approved> = {}): Pending => begin(approved(over), grantId, policy, t0)

export const redemption = (over: Partial<Redeem> = {}): Redeem => ({
  redirectUri: "https://app.example.org/cb",
  verifier,
  resource: null,
  ...over
})

const activeOr = (grant: Grant | undefined): Active => {
  if (grant?._tag !== "Active") throw new Error("not active")
  return grant
}

export const active = (over: Partial<Approved> = {}, at: Instant = t0): Active =>
  activeOr(redeem(pending(over), me, redemption(), policy, at, fresh).next)

export const standing = (over: Partial<Standing> = {}): Standing => ({
  _tag: "Standing",
  id: me.client.workspaceGrant,
  client: me.client.id,
  subject: { _tag: "Workspace" },
  scope: scopes("api"),
  resource: null,
  createdAt: t0,
  access: { epoch: 0, revoked: [] },
  ...over
})

export const key = (): Key =>
  makeKey({ name: "nightly", expiresAt: null }, grantId, new Uint8Array(32).fill(7), policy, t0).grant

export const presenting = (grant: Active, generation = grant.refresh.generation): RefreshToken => ({
  kind: "refresh",
  grant: grant.id,
  expiresAt: grant.refresh.expiresAt,
  generation
})
