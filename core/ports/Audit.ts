import { Context, Effect, Layer } from "effect"
import type { Likeness } from "../grant/Sender.ts"
import type { UserId } from "../rules/Id.ts"
import type { Refusal } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/**
 * Who did something: a person; the command line; the program that the server is a part of; the server, where it
 * goes by a rule of its own; the start, which makes the first account. No person's id holds a space, so none can pass for
 * the command line, the program or the server.
 */
export type Actor = UserId | "command line" | "host program" | "server itself" | "OWNER_EMAIL"

/** What becomes of a workspace that is hosted. */
type WorkspaceChange = "added" | "changed" | "disabled" | "enabled"

/** Something that an operator may have to account for. No event holds a secret, or a token, or enough to make one. */
export type AuditEvent =
  | {
      readonly _tag: "ClientRegistered"
      readonly client: string
      /** What it goes by on the wire, where it brought that. */
      readonly identifier?: string
      readonly by?: Actor
    }
  | {
      readonly _tag: "ClientChanged"
      readonly client: string
      /** `approved` and `refused`: by an owner, as one that acts for the workspace itself. */
      readonly change:
        | "updated"
        | "disabled"
        | "enabled"
        | "approved"
        | "refused"
        | "secret_made"
        | "secret_dropped"
        | "opaque_access_tokens"
        | "jwt_access_tokens"
        | "standard_profile"
        | "fapi2_profile"
        | "exchange_allowed"
        | "exchange_ended"
        /** Its metadata document says something else by now. */
        | "document_changed"
      /** Who did it, where it was not the client itself. */
      readonly by?: Actor
    }
  | { readonly _tag: "ClientDeleted"; readonly client: string; readonly by?: Actor }
  | {
      readonly _tag: "ConsentGiven"
      readonly client: string
      readonly user: UserId
      readonly scope: string
      readonly grant: string
      /** Where, where the person has places. */
      readonly place?: string
      /** For a device, whose code the person entered (RFC 8628). */
      readonly device?: true
      /** By what the person said to an earlier page: no question was asked this time. */
      readonly remembered?: true
    }
  | { readonly _tag: "ConsentDenied"; readonly client: string; readonly user: UserId }
  | {
      readonly _tag: "TokensIssued"
      readonly grantType: string
      readonly client: string
      readonly scope: string
      readonly grant: string
      /** The mark of the secret that the client showed, where it has two: whether the older one is still in use. */
      readonly secret?: string
    }
  /**
   * A client authenticated by the older of its two secrets, whatever became of its request. Each process tells it of a
   * secret once a minute at most.
   */
  | {
      readonly _tag: "OlderSecretUsed"
      readonly client: string
      readonly endpoint: string
      /** As of `TokensIssued`. */
      readonly secret: string
    }
  /** A refresh token that was just spent came again, and got the same successor; who sent it, held against the first. */
  | {
      readonly _tag: "RefreshRetried"
      readonly client: string
      readonly grant: string
      readonly network: Likeness
      readonly userAgent: Likeness
    }
  | {
      readonly _tag: "GrantRevoked"
      readonly grant: string
      readonly why: string
      /** Who did it; none where it ended because a code or a token was used twice. */
      readonly by?: Actor
    }
  | {
      readonly _tag: "TokenRevoked"
      readonly grant: string
      readonly client: string
      /** As of `TokensIssued`. */
      readonly secret?: string
    }
  /** From then on another issuer speaks for the workspace, and what the former one sealed opens nothing. */
  | { readonly _tag: "WorkspaceMoved"; readonly from: string; readonly to: string; readonly by: Actor }
  | { readonly _tag: "WorkspaceChanged"; readonly change: WorkspaceChange; readonly by: Actor }
  /** `withdrawn`: at once, with all that it signed. */
  | {
      readonly _tag: "SigningKeysChanged"
      readonly change: "rotated" | "retired" | "withdrawn"
      /** Its `kid`; of a rotation, the next one's. */
      readonly key: string
      readonly by: Actor
    }
  /**
   * A client was to be told that a session ended, and is not any more: it said no (`refused`), has no address now, or gave
   * no answer for a day.
   */
  | { readonly _tag: "LogoutCallGivenUp"; readonly client: string; readonly why: string }
  | { readonly _tag: "KeyCreated" | "KeyRevoked"; readonly grant: string; readonly by: Actor }
  /** Whose clients' documents are taken no more, or again. */
  | { readonly _tag: "ClientHostBlocked" | "ClientHostUnblocked"; readonly host: string; readonly by: Actor }
  /** From which hosts they are taken: `any`, or these. */
  | { readonly _tag: "ClientDocumentsChanged"; readonly hosts: "any" | ReadonlyArray<string>; readonly by: Actor }
  /** Whose assertions about people are taken from then on, on other terms, or no more. */
  | { readonly _tag: "IssuerTrusted" | "IssuerChanged" | "IssuerRemoved"; readonly issuer: string; readonly by: Actor }
  /** An API that tokens are for: its address. */
  | { readonly _tag: "ResourceAdded" | "ResourceRemoved"; readonly resource: string; readonly by: Actor }
  | {
      readonly _tag: "AccountChanged"
      readonly account: string
      readonly change: string
      readonly by: Actor
      /** What an account that is new may do. */
      readonly role?: string
      /** Which place of theirs. */
      readonly place?: string
    }
  | {
      readonly _tag: "AccountRefused"
      readonly change: string
      readonly reason: string
      readonly account?: string
      readonly by?: Actor
    }
  | { readonly _tag: "SignedIn" | "SignedOut"; readonly account: string }
  /** What was typed is never told: it may be a password in the wrong field. */
  | { readonly _tag: "SignInFailed"; readonly reason: string; readonly account?: string }
  | {
      readonly _tag: "Refused"
      readonly endpoint: string
      readonly refusal: Refusal["_tag"]
      readonly reason: string | null
      /** So many like it since the last line that told of them; one, where none is said. */
      readonly count?: number
    }

export interface AuditEntry {
  readonly at: number
  readonly workspace: WorkspaceId
  readonly requestId: string
  readonly event: AuditEvent
}

/** Where audit events go. It cannot fail a request: a sink that can fail deals with that itself. */
export class Audit extends Context.Service<Audit, { readonly record: (entry: AuditEntry) => Effect.Effect<void> }>()(
  "tessera/core/ports/Audit"
) {
  static readonly layerNone = Layer.succeed(Audit, { record: () => Effect.void })
}
