import type { Principal } from "../../core/grant/Principal.ts"
import { grantMark } from "../../core/rules/Id.ts"

interface Common {
  /** Who issued the token, and so whose API it is for. */
  readonly issuer: string
  /** What the audit stream calls that which the token came from: good for logs, and for nothing else. */
  readonly grant: string
  readonly scope: ReadonlyArray<string>
  /** What the token is bound to; `null`: all of the API. */
  readonly resource: string | null
}

/** An application acting for a person. */
export interface UserCaller extends Common {
  readonly _tag: "User"
  readonly user: string
  readonly client: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** An application acting for itself. */
export interface WorkspaceCaller extends Common {
  readonly _tag: "Workspace"
  readonly client: string
  readonly expiresAt: number
}

/** A script with an API key. */
export interface ApiKeyCaller extends Common {
  readonly _tag: "ApiKey"
  /** `null`: never. */
  readonly expiresAt: number | null
}

/** Who calls, in the same words whether the authorization server is in this process or in another. */
export type Caller = UserCaller | WorkspaceCaller | ApiKeyCaller

/** What a guard knows is asked again, and a host may do as it likes with what it was told. */
export const copyOf = (caller: Caller): Caller => ({ ...caller, scope: [...caller.scope] })

/**
 * What a guard tells of the core's principal: of the grant its mark alone, since its id is half of a token, and a list of
 * scopes that is the host's own, since the core keeps the grant's.
 */
export const callerOf = (issuer: string, principal: Principal): Caller => {
  const { resource } = principal
  const common = { issuer, grant: grantMark(principal.grant), scope: [...principal.scope], resource }
  switch (principal._tag) {
    case "User":
      return {
        _tag: "User",
        user: principal.user,
        client: principal.client,
        expiresAt: principal.expiresAt,
        ...common
      }
    case "Workspace":
      return { _tag: "Workspace", client: principal.client, expiresAt: principal.expiresAt, ...common }
    case "ApiKey":
      return { _tag: "ApiKey", expiresAt: principal.expiresAt, ...common }
  }
}
