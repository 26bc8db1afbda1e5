import { Effect, Redacted, Result } from "effect"
import { type AuthenticatedClient, authenticate } from "../../../core/client/authenticate.ts"
import type { Client } from "../../../core/client/Client.ts"
import { credentialLength, register } from "../../../core/client/register.ts"
import type { Binding } from "../../../core/grant/Binding.ts"
import type { Active } from "../../../core/grant/Grant.ts"
import { noAccessTokensYet, refreshToken } from "../../../core/grant/issue.ts"
import type { Services } from "../../../core/http/Route.ts"
import { type ClientId, clientIdOf, GrantId, grantIdOf, idLength, UserId } from "../../../core/rules/Id.ts"
import { currentInstant, type Instant, later } from "../../../core/rules/Instant.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { type Scopes, scopesWithoutUser } from "../../../core/rules/Scope.ts"
import { drawFrom } from "../../../core/testing/Draw.ts"
import type { Place } from "../../../core/token/KeyRing.ts"
import { seal } from "../../../core/token/Token.ts"
import type { WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { redirectUri } from "../serving.ts"

/** So many numbers below a bound, each once, by chance as `pgbench` takes them, and the same in every run. */
export const drawNumbers = (count: number, bound: number): ReadonlyArray<number> => {
  const draw = drawFrom("grants")
  const numbers = new Set<number>()
  while (numbers.size < Math.min(count, bound)) numbers.add(draw.below(bound))
  return [...numbers]
}

/** Grants that are there before a run, counted from 0: digits are base64url too, and `A` leaves no bit over. */
export const grantIdAt = (n: number): GrantId => GrantId.make(`${String(n).padStart(21, "0")}A`)

const policy = standardPolicy

/** What its holder may do, and nothing of who that is. */
const plainScope = scopesWithoutUser(policy.scopes)

export const grantAt = (n: number, client: ClientId, key: string, now: Instant, scope = plainScope): Active => {
  const endsAt = later(now, policy.refreshMaxTtl)
  return {
    _tag: "Active",
    id: grantIdAt(n),
    client,
    subject: { _tag: "User", id: UserId.make(`user-${n}`) },
    scope,
    resources: null,
    createdAt: now,
    challenge: null,
    access: noAccessTokensYet,
    refresh: { generation: 1, issuedAt: now, expiresAt: later(now, policy.refreshIdleTtl), key, rotatedBy: null },
    retriedElsewhereAt: null,
    endsAt
  }
}

const atOnce = 2000

/** Puts so many grants into the store, by its own verbs. */
export const fill = (
  services: Services,
  workspace: WorkspaceId,
  client: ClientId,
  numbers: ReadonlyArray<number>,
  now: Instant,
  scope?: Scopes
) => {
  const key = services.keys.current().first.id
  const insert = (n: number) => services.grantRecords.insert(workspace, grantAt(n, client, key, now, scope), "fill")
  return Effect.forEach(numbers, insert, { concurrency: atOnce, discard: true })
}

export const accessTokenOf = (
  services: Services,
  workspace: Place,
  grant: GrantId,
  now: Instant,
  binding: Binding | null = null
): string =>
  seal(services.keys.current(), workspace, {
    kind: "access",
    grant,
    expiresAt: later(now, policy.accessTtl),
    epoch: 0,
    serial: Buffer.from(services.entropy.bytes(8)).toString("hex"),
    scope: null,
    resources: null,
    binding,
    actors: null
  })

/** The refresh token that is the live one of a grant now. */
export const refreshTokenOf = (services: Services, workspace: Place, grant: Active): string =>
  seal(services.keys.current(), workspace, refreshToken(grant))

export interface Registered {
  readonly client: Client
  readonly by: AuthenticatedClient
  readonly secret: string
}

/** The same clients in every process of a run, each registered by the core's own rules and told by its number. */
export const makeClient = (
  services: Services,
  workspace: WorkspaceId,
  number = 0,
  metadata: Readonly<Record<string, unknown>> = { token_endpoint_auth_method: "client_secret_post" }
) =>
  Effect.gen(function* () {
    const now = yield* currentInstant
    const bytes = (length: number, first: number) => {
      const made = new Uint8Array(length).fill(1, 1).fill(first, 0, 1)
      new DataView(made.buffer).setUint32(1, number)
      return made
    }
    const fresh = {
      id: clientIdOf(bytes(idLength, 2)),
      workspaceGrant: grantIdOf(bytes(idLength, 3)),
      secret: bytes(credentialLength, 4),
      registration: bytes(credentialLength, 5)
    }
    const request = {
      client_name: "Benchmark",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      ...metadata
    }
    const made = yield* Effect.fromResult(register(services, request, services.policy, now, fresh, "owner"))
    // Another process of the same run may have put it there.
    yield* services.clients.add(workspace, made.client).pipe(Effect.catchTag("Conflict", () => Effect.void))
    const secret = made.secret === undefined ? "" : Redacted.value(made.secret)
    const by = yield* Effect.fromResult(authenticate(made.client, true, Result.succeed(undefined), false))
    return { client: made.client, by, secret } satisfies Registered
  })
