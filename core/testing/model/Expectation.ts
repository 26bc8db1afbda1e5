import type { KeyName, Ref } from "../script/Command.ts"
import type { Scope } from "./State.ts"
import type { PlaceName } from "./World.ts"

/** Whom an ID token names, and what else it tells (OpenID Connect Core §2). */
export interface Identity {
  readonly issuer: string
  readonly client: Ref
  readonly user: string
  readonly nonce: string | null
  /** §12.2: a refreshed one may leave the nonce out. */
  readonly isFirst: boolean
  readonly authTime: number | null
  readonly tellsName: boolean
  readonly now: number
  /** Whose ID token named the same session. */
  readonly sameSession: Ref | null
}

/** What a token is good for: whose it is, where, and for what. */
export interface Worth {
  readonly client: Ref
  /** Who exchanged it, the last first. */
  readonly actors: ReadonlyArray<Ref>
  readonly user: string | null
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  readonly issuer: string
  readonly boundTo: KeyName | null
  readonly place: PlaceName | null
}

/** What a token says to every party that can read it (RFC 9068 §2.2). */
export interface Readable extends Worth {
  readonly issuedAt: number
  readonly expiresAt: number
}

/** What the model says about an answer; where the documents leave a choice, several statuses or codes fit. */
export type Expectation =
  /** An OAuth error as JSON. */
  | { readonly _tag: "Refused"; readonly status: ReadonlyArray<number>; readonly error: ReadonlyArray<string> }
  | { readonly _tag: "Registered"; readonly hasSecret: boolean; readonly grants: ReadonlyArray<string> }
  | { readonly _tag: "Pushed" }
  /** RFC 9110 §15.6.4: 503 and when to come again, and no redirect. */
  | { readonly _tag: "Away" }
  /** By the program itself: where its document is. */
  | { readonly _tag: "Published" }
  /** By the issuer of an assertion: what its client brings here. */
  | { readonly _tag: "Attested" }
  /** What an owner is told who answers a client, or looks at it. */
  | {
      readonly _tag: "Answered"
      readonly outcome: "done" | "was_so" | "not_asked" | "unknown" | "allowed" | "waiting" | "refused" | "owners_only"
    }
  | { readonly _tag: "DeviceWaits"; readonly issuer: string }
  | { readonly _tag: "ConsentPage" }
  /** The consent page once more, or the way to it. */
  | { readonly _tag: "ConsentAgain"; readonly issuer: string }
  /** OpenID Connect Core §3.1.2.1: to where a person signs in. */
  | { readonly _tag: "SentToSignIn" }
  /** Whether a person wants to sign out. */
  | { readonly _tag: "AsksToSignOut" }
  /** With a page, or back to the application and what it sent. */
  | { readonly _tag: "SignedOut"; readonly back: { readonly state: string | null } | null }
  /** Something readable, and no redirect; `refuses`: that nothing comes of the request. */
  | { readonly _tag: "Page"; readonly refuses?: true }
  | {
      readonly _tag: "SentBack"
      readonly to: string
      readonly state: string | null
      readonly issuer: string
      /** `null`: with a code. */
      readonly error: ReadonlyArray<string> | null
    }
  | {
      readonly _tag: "Tokens"
      readonly scope: ReadonlyArray<Scope>
      readonly expiresIn: number
      readonly boundTo: KeyName | null
      /** `same`: byte for byte what that command was answered. */
      readonly refresh: "none" | "new" | { readonly sameAs: Ref }
      /** `null`: the access token is a reference that only the server reads. */
      readonly readable: Readable | null
      /** `null`: there is no ID token. */
      readonly identity: Identity | null
    }
  | { readonly _tag: "Unknown" }
  | (Worth & { readonly _tag: "Known" })
  | { readonly _tag: "Done"; readonly status: number }
  /** `worth`: what a guard tells the handler that it lets a call through to. */
  | {
      readonly _tag: "Admitted"
      readonly user: string | null
      readonly worth: Worth | null
      /** At userinfo, whether the person's name is told. */
      readonly tellsName: boolean | null
    }
  | { readonly _tag: "Turned away"; readonly status: number; readonly error: ReadonlyArray<string> | null }
  | { readonly _tag: "Forbidden" }
  /** Nothing was asked over HTTP. */
  | { readonly _tag: "Silence" }
