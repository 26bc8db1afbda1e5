import { Context, type Effect, type Option, type Redacted } from "effect"
import type { HeaderPairs, HttpRequest } from "../http/Http.ts"
import type { StandardClaim, standardClaims } from "../rules/Claims.ts"
import type { PlaceId, UserId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Contended, Overloaded, TooManyRequests } from "../rules/Refusal.ts"
import type { ScopeName } from "../rules/Scope.ts"
import type { OpenWorkspace, Workspace } from "../workspace/Workspace.ts"
import type { StorageUnavailable } from "./Storage.ts"

/** The person at a browser, as the host's session knows them. */
export interface SignedIn {
  readonly user: UserId
  /** Tells this session from every other; forms and consent tickets are bound to it. Not the cookie itself. */
  readonly session: string
  /** How the account is called on the pages: an email, a name. */
  readonly label: string
  /** Owners manage clients, keys and members. */
  readonly role: "owner" | "member"
  /** How strongly the person proved who they are, in words that applications may ask for (RFC 9470). */
  readonly acr?: string
  /** By which means (RFC 8176): `["pwd"]`. */
  readonly amr?: ReadonlyArray<string>
  /** When the person last gave the password in this session, where `confirm` can ask for it again. */
  readonly confirmedAt?: Instant
  /**
   * When the person last proved who they are. Without it, a request that asks for a new sign-in (`prompt=login`) takes
   * another session as one.
   */
  readonly authenticatedAt?: Instant
  /** What applications know the session by, where `session` changes with a sign-in in it. Default: `session`. */
  readonly name?: string
  /** Earlier sessions that this one took over: applications know some by these. */
  readonly before?: ReadonlyArray<string>
}

/**
 * What an application asks of a sign-in: that it happens though a person is signed in, or that an account is chosen.
 */
export type SignInAsked = "login" | "select_account"

/** What an application tells of the sign-in that it would like. None need meet it: what has to be is checked after it. */
export interface SignInHints {
  /** Who it expects: an email, a name. */
  readonly loginHint?: string
  /** How strongly they are to prove who they are (RFC 9470), the dearest first. */
  readonly acr?: ReadonlyArray<string>
}

/** What a person lets applications know (OpenID Connect Core §5.1). */
export type StandardClaims = { readonly [name in StandardClaim]?: (typeof standardClaims)[name]["Type"] }

/** What is known of a person. An application is told what its scopes cover, and no more. */
export interface Profile extends StandardClaims {
  readonly sub: UserId
  /** Claims of the host's own, that a row of its table names. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Where a person may let an application act for them: one of several organisations of the host's, say. */
export interface UserPlace {
  readonly id: PlaceId
  /** How people know it. */
  readonly label: string
  /** Tells two of one name apart. */
  readonly detail?: string
  /** All that the person may hand on there; without it, whatever an application is allowed. */
  readonly scopes?: ReadonlyArray<ScopeName>
}

/** Whom an issuer that an owner trusts means (RFC 7523). */
export interface Asserted {
  readonly issuer: string
  /** Its own name for the person. */
  readonly subject: string
  /** Where it says one, and does not say that it is unverified. */
  readonly email?: string
}

/** The people of a workspace, and the browser session that tells which of them is here: what an embedding host gives. */
export class ResourceOwner extends Context.Service<
  ResourceOwner,
  {
    readonly current: (
      workspace: OpenWorkspace,
      request: HttpRequest
    ) => Effect.Effect<Option.Option<SignedIn>, StorageUnavailable>
    /** Where to send the browser to sign in, so that it comes back to `returnTo`: a path of the issuer's origin. */
    readonly signInAt: (workspace: OpenWorkspace, returnTo: string, asked?: SignInAsked, hints?: SignInHints) => string
    /**
     * Where a person goes to sign in as another, and comes back from in the same way. Needed where `signInAt` sends a
     * person who is signed in straight back; without it, `signInAt`. Who is `asked` for a `login` signs in, even as the
     * same person.
     */
    readonly switchAt?: (workspace: OpenWorkspace, returnTo: string, asked?: SignInAsked, hints?: SignInHints) => string
    /**
     * Ends the session of this request, and gives the headers that end it in the browser. Without it, no application can
     * send a person to be signed out.
     */
    readonly signOut?: (
      workspace: OpenWorkspace,
      request: HttpRequest,
      signedIn: SignedIn
    ) => Effect.Effect<HeaderPairs, Contended | StorageUnavailable>
    /** Where sessions have a path of their own, a page may have to find it before the person counts as signed out. */
    readonly hasSessionPaths?: true
    /**
     * Whether this is the person's password; if so, `confirmedAt` is now from the next request on. With it, forms of the
     * settings that make keys, or let a person in, ask for the password after a while; without it, they never do.
     */
    readonly confirm?: (
      workspace: Workspace,
      signedIn: SignedIn,
      password: Redacted.Redacted<string>,
      now: Instant
    ) => Effect.Effect<boolean, TooManyRequests | Overloaded | Contended | StorageUnavailable>
    /**
     * The places of a person, asked for the consent page and once more at its answer. With several, the person chooses one;
     * without any, or without this function, a grant has none.
     */
    readonly places?: (
      workspace: Workspace,
      user: UserId
    ) => Effect.Effect<ReadonlyArray<UserPlace>, StorageUnavailable>
    /**
     * The person whom an assertion means: one who is here, or, where `make`, one who is let in by it. Without it,
     * every assertion is refused.
     */
    readonly asserted?: (
      workspace: Workspace,
      asserted: Asserted,
      make: boolean
    ) => Effect.Effect<Option.Option<UserId>, Contended | Overloaded | StorageUnavailable>
    /**
     * The claims that it can tell of people and of how they sign in, beside `sub` and `auth_time`: metadata lists no
     * other. Without it, all that scopes cover.
     */
    readonly claims?: ReadonlyArray<string>
    /** None, once the person has left the workspace. */
    readonly profile: (workspace: Workspace, user: UserId) => Effect.Effect<Option.Option<Profile>, StorageUnavailable>
  }
>()("tessera/core/ports/ResourceOwner") {}
