import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import type { GrantId, PlaceId, UserId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Resources } from "../rules/Resource.ts"
import type { Scopes } from "../rules/Scope.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { KeyUse } from "./Grant.ts"

/** Who is calling, as a bearer token shows: everything that a resource may decide by. */
export type Principal = UserPrincipal | WorkspacePrincipal | ApiKeyPrincipal

interface Common {
  readonly workspace: WorkspaceId
  readonly scope: Scopes
  readonly grant: GrantId
  /** What the token or key is for; `null` is the whole workspace. */
  readonly resources: Resources | null
}

/** An application acting for a person. */
export interface UserPrincipal extends Common {
  readonly _tag: "User"
  readonly user: UserId
  /** Where the person allowed it, where they have places: the host's name for it. */
  readonly place?: PlaceId
  /** When the person signed in, where the authorization request asked (`max_age`, RFC 9470). */
  readonly authenticatedAt?: Instant
  /** How strongly, where it asked (`acr_values`). */
  readonly acr?: string
  /** The one that the token was issued to. */
  readonly client: ClientIdentifier
  readonly expiresAt: Instant
  /** RFC 8693 §4.1: of an exchanged token, those who exchanged, the last of them first: it is the `client`. */
  readonly actors?: ReadonlyArray<ClientIdentifier>
}

/** An application acting for itself, with the workspace's own access. */
export interface WorkspacePrincipal extends Common {
  readonly _tag: "Workspace"
  readonly client: ClientIdentifier
  readonly expiresAt: Instant
}

/** A script of the workspace's own. */
export interface ApiKeyPrincipal extends Common {
  readonly _tag: "ApiKey"
  readonly name: string
  readonly use: KeyUse
  readonly expiresAt: Instant | null
}
