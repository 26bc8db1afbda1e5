import { Result } from "effect"
import { type AuthenticatedClient, authenticate } from "../../core/client/authenticate.ts"
import type { Client } from "../../core/client/Client.ts"
import { makeKey } from "../../core/grant/apiKey.ts"
import type { Binding } from "../../core/grant/Binding.ts"
import { type Approved, begin } from "../../core/grant/begin.ts"
import type { Active, Grant, Key, Pending, Standing } from "../../core/grant/Grant.ts"
import { type MarkSender, markSender, type Sender } from "../../core/grant/Sender.ts"
import type { Fresh, Step } from "../../core/grant/Step.ts"
import { authorizationCode } from "../../core/oauth/grants/authorizationCode.ts"
import { clientCredentials as ownAccess } from "../../core/oauth/grants/clientCredentials.ts"
import { refreshToken } from "../../core/oauth/grants/refreshToken.ts"
import { ClientId, GrantId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { CodeChallenge, CodeVerifier } from "../../core/rules/Pkce.ts"
import { type Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectTarget, RedirectUri } from "../../core/rules/RedirectUri.ts"
import type { Resources } from "../../core/rules/Resource.ts"
import { ScopeName, Scopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { makeSealer, type Place, sealKey } from "../../core/token/KeyRing.ts"
import type { RefreshToken } from "../../core/token/Token.ts"

export const policy: Policy = { ...standardPolicy, workspaceAccess: "registered" }
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
  Result.getOrThrow(authenticate({ ...of, credential: { _tag: "Public" } }, true, Result.succeed(undefined), false))

export const me = proven()
export const stranger = proven(client({ id: ClientId.make(idOf("x")) }))

export const verifier = CodeVerifier.make("v".repeat(43))
export const approved = (over: Partial<Approved> = {}): Approved => ({
  client: me.client.id,
  user: UserId.make("alice"),
  redirectUri: RedirectTarget.make("https://app.example.org/cb"),
  challenge: CodeChallenge.make(digestOf(verifier)),
  scope: scopes("api", "profile"),
  resources: null,
  ...over
})

export const grantId = GrantId.make(idOf("g"))
export const pending = (over: Partial<Approved> = {}): Pending => begin(approved(over), grantId, policy, t0)

export interface Redeem {
  readonly redirectUri: string
  readonly verifier: CodeVerifier | undefined
  readonly resources: Resources | null
}

export const redemption = (over: Partial<Redeem> = {}): Redeem => ({
  redirectUri: "https://app.example.org/cb",
  verifier,
  resources: null,
  ...over
})

const keys = [sealKey(new Uint8Array(32).fill(1)), sealKey(new Uint8Array(32).fill(2))] as const
export const ring = makeSealer([...keys])

export const home: Place = { id: "home", issuer: "https://auth.example.com" }

/** A sender as the engine marks one, under the keys of a ring. */
export const sentBy = (sender: Partial<Sender>, sealer = ring): MarkSender =>
  markSender(sealer, home, grantId, () => ({ network: undefined, userAgent: "", ...sender }))

/** What was proven beside the form, by whom, and the scopes that its resources take. */
interface Beside {
  readonly binding?: Binding | null
  readonly from?: MarkSender
  readonly taken?: Scopes | null
}

/** Decisions by what each looks at, in one line: a step's form, its resource, and what the client proved to hold. */
const steps =
  <Form, D>(decide: (found: Grant | undefined, step: Step<Form>) => D) =>
  (
    found: Grant | undefined,
    by: AuthenticatedClient,
    { resources, ...form }: Form & { readonly resources: Resources | null },
    rules: Policy,
    now: Instant,
    drawn: Fresh,
    { binding = null, from = sentBy({}), taken = null }: Beside = {}
  ): D =>
    // What is left beside the resource is the form.
    decide(found, {
      by,
      form: form as Form,
      resources,
      taken,
      binding,
      markSender: from,
      policy: rules,
      now,
      fresh: drawn
    })

export const redeem = steps<Omit<Redeem, "resources">, ReturnType<typeof authorizationCode.decide>>((found, step) => {
  const { redirectUri: redirect_uri, verifier: code_verifier } = step.form
  const proof = code_verifier === undefined ? {} : { code_verifier }
  return authorizationCode.decide(found, { ...step, form: { code: "", redirect_uri, ...proof } })
})

export const refresh = steps<
  { readonly presented: RefreshToken; readonly scope: string | undefined },
  ReturnType<typeof refreshToken.decide>
>((found, step) => {
  const { presented: refresh_token, scope } = step.form
  return refreshToken.decide(found, { ...step, form: { refresh_token, ...(scope === undefined ? {} : { scope }) } })
})

export const clientCredentials = steps<{ readonly scope: string | undefined }, ReturnType<typeof ownAccess.decide>>(
  (found, step) => {
    const { scope } = step.form
    return ownAccess.decide(found, { ...step, form: scope === undefined ? {} : { scope } })
  }
)

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
  resources: null,
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
