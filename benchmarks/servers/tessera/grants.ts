import { Effect } from "effect"
import type { Active } from "../../../core/grant/Grant.ts"
import { noAccessTokensYet, refreshToken } from "../../../core/grant/issue.ts"
import type { Parts } from "../../../core/http/Route.ts"
import { type ClientId, GrantId, UserId } from "../../../core/rules/Id.ts"
import { type Instant, later } from "../../../core/rules/Instant.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { scopesWithoutUser } from "../../../core/rules/Scope.ts"
import { seal } from "../../../core/token/Token.ts"
import type { WorkspaceId } from "../../../core/workspace/Workspace.ts"

/** Grants that are there before a run, counted from 0: digits are base64url too, and `A` leaves no bit over. */
export const grantIdAt = (n: number): GrantId => GrantId.make(`${String(n).padStart(21, "0")}A`)

const policy = standardPolicy

export const grantAt = (n: number, client: ClientId, key: string, now: Instant): Active => {
  const endsAt = later(now, policy.refreshMaxTtl)
  return {
    _tag: "Active",
    id: grantIdAt(n),
    client,
    subject: { _tag: "User", id: UserId.make(`user-${n}`) },
    scope: scopesWithoutUser(policy.scopes),
    resource: null,
    createdAt: now,
    access: noAccessTokensYet,
    refresh: { generation: 1, issuedAt: now, expiresAt: later(now, policy.refreshIdleTtl), key },
    endsAt
  }
}

const atOnce = 2000

/** Puts so many grants into the store, by its own verbs. */
export const fill = (
  parts: Parts,
  workspace: WorkspaceId,
  client: ClientId,
  numbers: ReadonlyArray<number>,
  now: Instant
) => {
  const key = parts.keys.current().first.id
  return Effect.forEach(numbers, (n) => parts.grantRecords.insert(workspace, grantAt(n, client, key, now), "fill"), {
    concurrency: atOnce,
    discard: true
  })
}

export const accessTokenOf = (parts: Parts, workspace: WorkspaceId, grant: GrantId, now: Instant): string =>
  seal(parts.keys.current(), workspace, {
    kind: "access",
    grant,
    expiresAt: later(now, policy.accessTtl),
    epoch: 0,
    serial: Buffer.from(parts.entropy.bytes(8)).toString("hex"),
    scope: null,
    resource: null,
    binding: null
  })

/** The refresh token that is the live one of a grant now. */
export const refreshTokenOf = (parts: Parts, workspace: WorkspaceId, grant: Active): string =>
  seal(parts.keys.current(), workspace, refreshToken(grant))
