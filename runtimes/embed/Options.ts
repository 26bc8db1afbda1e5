import { type Clock, type Duration, type Layer, type Redacted, Schema } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Endpoint } from "../../core/http/Route.ts"
import type { ConsentPage } from "../../core/pages/Consent.ts"
import type { AuditEntry } from "../../core/ports/Audit.ts"
import type { Storage } from "../../core/ports/Storage.ts"
import type { ThemeOptions } from "../../core/workspace/Theme.ts"
import type { HostPeople } from "./hostOwner.ts"

/**
 * What `createTessera`, or a method of what it made, was given and cannot work with. `message` names the option, or the
 * method and its argument, and never holds a secret's value.
 */
export class BadOption extends Schema.TaggedError<BadOption>()("BadOption", {
  option: Schema.String,
  message: Schema.String
}) {}

export const badOption = (option: string, why: string): BadOption =>
  new BadOption({ option, message: `createTessera: ${option} ${why}` })

/** `argument`: with its method in front, as `grants.list limit`. */
export const badArgument = (argument: string, why: string): BadOption =>
  new BadOption({ option: argument, message: `${argument} ${why}` })

/** A scope that applications can be granted. */
export interface ScopeOption {
  /** As applications ask for it: `orders:read`. */
  readonly name: string
  /** What it lets an application do, in words for the consent page: "See your orders". */
  readonly meaning: string
  /** Speaks of a person, so an application acting for itself can't have it. Default: `false`. */
  readonly needsUser?: boolean
  /** Granted where an application asks for no scope at all. Default: `false`. */
  readonly byDefault?: boolean
  /** Scopes that this one includes: `["orders:read"]` of `orders`. Default: none. */
  readonly implies?: ReadonlyArray<string>
}

/** An API that tokens are for, wherever it is (RFC 8707). */
export interface ResourceOption {
  /** Its address, as applications name it: `https://mcp.shop.example`. What is below is part of it. */
  readonly at: string
  /** What people read on the consent page. Default: the host of `at`. */
  readonly name?: string
  /** The scopes that it takes, with what they imply; a token for it has no others. Default: all. */
  readonly scopes?: ReadonlyArray<string>
  /**
   * `"jwt"`: access tokens for it are JWTs (RFC 9068), which it verifies by the keys of `/oauth/jwks` without asking. A
   * token for several resources is one if any of them asks for it. Default: `"opaque"`.
   */
  readonly accessTokenFormat?: "opaque" | "jwt"
  /** The longest that access tokens for it last: `"5 minutes"`. Default, and the most: `lifetimes.access`. */
  readonly accessTokenTtl?: Duration.Input
}

/** How long things last, a second at least: milliseconds, or words such as `"90 seconds"` or `"30 days"`. */
export interface LifetimeOptions {
  /** An authorization code. Default: `"60 seconds"`. */
  readonly code?: Duration.Input
  /** An access token. Default: `"1 hour"`. */
  readonly access?: Duration.Input
  /** A refresh token that is not used. Default: `"30 days"`. */
  readonly refreshIdle?: Duration.Input
  /** A grant, however often it is refreshed. Default: `"180 days"`. */
  readonly refreshMax?: Duration.Input
  /** How long a spent refresh token still gets the same successor; 0 turns it off. Default: `"60 seconds"`. */
  readonly refreshGrace?: Duration.Input
  /** How long a person may take over the consent page. Default: `"15 minutes"`. */
  readonly consent?: Duration.Input
  /** The code that a program without a browser shows; a minute at least. Default: `"10 minutes"`. */
  readonly device?: Duration.Input
}

/** What the server fetches by itself: metadata documents of applications, and keys of those that sign (`jwks_uri`). */
export interface FetchOption {
  /**
   * Hosts of a private network that it may fetch from, as `keys.internal` or `keys.internal:9443`. On Workers, where no
   * address can be checked, the only hosts at all. Default: none.
   */
  readonly allow?: ReadonlyArray<string>
  /**
   * Who vouches for those hosts beside the authorities of the platform, as PEM; not on Workers, nor on Node before
   * 20.16. Default: none.
   */
  readonly ca?: string | ReadonlyArray<string>
}

/** Tokens that are bound to a key of their application (DPoP, RFC 9449). */
export interface DpopOption {
  /** Every token has to be; otherwise those of applications that ask for it. Default: `false`. */
  readonly required?: boolean
  /**
   * Where proofs have to hold a nonce of the server's, good for one to two minutes: at its own endpoints (`"auth"`), or at
   * guarded routes too (`"all"`). Default: `"off"`.
   */
  readonly nonces?: "off" | "auth" | "all"
}

/** What else Tessera can serve. `settings` are the pages where people look after their applications. */
export const extras = ["settings", "home", "health", "openapi", "example"] as const
export type Extra = (typeof extras)[number]

export const logLevels = ["all", "problems", "none"] as const

/** An issuer that you trust, and how far. */
export interface TrustedIssuerOption {
  /** As it stands in `iss`, letter for letter. */
  readonly issuer: string
  /** Its public keys, as a JWK Set (RFC 7517). */
  readonly jwks?: { readonly keys: ReadonlyArray<object> }
  /** The https address where they are, instead. */
  readonly jwksUri?: string
  /** The ids of the clients that may bring its assertions. Default: all that you registered for them. */
  readonly clients?: ReadonlyArray<string>
  /** The most that it can grant. Default: what the client may have. */
  readonly scopes?: ReadonlyArray<string>
  /** The APIs that it can grant access to. Default: all. */
  readonly resources?: ReadonlyArray<string>
  /** The domains of the email addresses that it speaks for. Default: it speaks for whom it names. */
  readonly domains?: ReadonlyArray<string>
  /** `made`: whom it names and who is new is let in. Default: `known`. */
  readonly people?: "known" | "made"
  /** `any`: also assertions that are made for no client. Default: `id-jag`, those for the client that brings them. */
  readonly takes?: "id-jag" | "any"
}

export interface CreateOptions {
  /** Where the authorization server is found, without a slash at the end: `https://shop.example`, or a path of it. */
  readonly issuer: string

  /** Several in one process stand in place of `issuer`: see `HostingOptions`. */
  readonly workspaces?: never

  /** What people read on the pages. Default: the host name of `issuer`. */
  readonly name?: string

  /**
   * Where records live: `sqlite.layer({ path })`, or another layer of `tessera/storage/…`, or an implementation of your
   * own. It is opened by the first request that needs it, or by `ready()`.
   */
  readonly storage: Layer.Layer<Storage, unknown> | Storage["Service"]

  /**
   * The seal keys, as text (several separated by commas) or as a list: the first seals, all of them open.
   * `npx tessera seal-keys new` makes one. With them and your database a thief can make tokens.
   */
  readonly keys: string | Redacted.Redacted<string> | ReadonlyArray<string>

  /** Your people: who is signed in, where to sign in, what applications may learn of them. */
  readonly owner: HostPeople

  /**
   * The issuer that this server had before. The storage remembers whose it is, and another issuer is refused: by
   * `ready()`, and with 503. Naming the former one says that it has moved; what it sealed opens nothing any more, and API
   * keys stay. Default: it has not moved.
   */
  readonly movedFrom?: string

  /**
   * The scopes that there are. Default: `api` (the default scope), `profile`, and those of OpenID Connect: `openid`, `email`,
   * `address`, `phone`. Without `openid` among yours, no client signs people in by OpenID Connect.
   */
  readonly scopes?: ReadonlyArray<ScopeOption>

  /**
   * Claims of your own that `owner.profile` tells of a person, by the scope that lets an application learn them:
   * `{ groups: ["groups", "team"] }`. Default: the standard claims of OpenID Connect, and no others.
   */
  readonly claims?: Readonly<Record<string, ReadonlyArray<string>>>

  /**
   * The APIs that tokens are for. An application that names another gets `invalid_target`. Owners list more in the settings.
   * Default: one, which is `issuer` and everything below it.
   */
  readonly resources?: ReadonlyArray<ResourceOption>

  /**
   * The issuers whose assertions about your people are taken (RFC 7523, ID-JAG), from clients that you registered for the
   * grant type `urn:ietf:params:oauth:grant-type:jwt-bearer`. `owner.asserted` says whom they mean. Default: none.
   */
  readonly trustedIssuers?: ReadonlyArray<TrustedIssuerOption>

  /** How long codes, tokens and grants last. Default: see each. */
  readonly lifetimes?: LifetimeOptions

  /** Who may register an application by RFC 7591: any caller, holders of this token, or none. Default: `"open"`. */
  readonly registration?: "open" | "closed" | { readonly token: string | Redacted.Redacted<string> }

  /**
   * When an application that registers itself is written to the storage: `"at_once"`, or, `"at_consent"`, with the first
   * person's consent, an owner's answer by its id (`clients.approve`), or its first token without a person. Until then its
   * id, which is up to 700 characters long, holds all of it, and opens for 30 days. Default: `"at_once"`.
   */
  readonly registrationRows?: "at_once" | "at_consent"

  /**
   * Whose metadata documents are taken: an application without a registration goes by the https address of its own, and
   * gets in once a person approves it. `true` for any host, `false` for none, or a list: `["claude.ai", "*.example.com"]`.
   * Default: any where `registration` is `"open"`, none elsewhere.
   */
  readonly clientDocuments?: boolean | ReadonlyArray<string>

  /**
   * Which applications may act for the workspace itself, by client credentials and without a person: only those that you,
   * as the `owner`, made by `clients.register`; those too that you `approved` (`clients.approve`, or the settings); or all
   * that `registered` for it. With open registration, the last gives any client the scopes that need no user. Default:
   * `"owner"`.
   */
  readonly workspaceAccess?: "owner" | "approved" | "registered"

  /**
   * Whether people are asked every time, or `remember`ed: then what they still let an application have is not asked
   * again, for the same scopes, resources and place. Never where the application returns to the person's own device, and
   * for 30 days where it registered itself and no owner approved it. Default: `"ask"`.
   */
  readonly consent?: "ask" | "remember"

  /**
   * Whether programs without a browser get in (RFC 8628): they show a code, which people enter at `/device`. Never where
   * `profile` is `"fapi2"`. Default: `true`.
   */
  readonly devices?: boolean

  /**
   * How many applications that registered themselves, and that no person has let in, are kept; beyond it those that were
   * not used for longest go. Default: 100,000.
   */
  readonly maxUnprovenClients?: number

  /** Asks PKCE of confidential applications too; public ones always need it. Default: `false`. */
  readonly requirePkce?: boolean

  /** `"required"`: applications push their authorization requests first (RFC 9126). Default: `"optional"`. */
  readonly par?: "optional" | "required"

  /**
   * What every application is held to at least: `"fapi2"` is the FAPI 2.0 Security Profile, which an application may also
   * ask of itself by `security_profile`. Default: `"standard"`.
   */
  readonly profile?: "standard" | "fapi2"

  /** Signs access tokens that are JWTs. Some APIs and gateways read `"RS256"` alone. Default: `"ES256"`. */
  readonly jwtAlgorithm?: "EdDSA" | "Ed25519" | "ES256" | "PS256" | "RS256"

  /** How tokens are bound to keys. Default: as applications ask for it, without nonces. */
  readonly dpop?: DpopOption

  /**
   * Slows floods down: by application, grant, account, and only last by address. A `factor` from 0.1 to 1000 allows so
   * many times as much of everything. Default: `true`.
   */
  readonly rateLimits?: boolean | { readonly factor: number }

  /**
   * What the server may fetch beside documents of the public network. Default: nothing; and nothing is fetched where no
   * application names an address.
   */
  readonly fetch?: FetchOption

  /** Name, logo, colours, font and corners of the pages, light and dark. Default: Tessera's own. */
  readonly theme?: ThemeOptions

  /**
   * Your own consent page. A function draws it from the core's model (and the workspace's id), as HTML or as a whole answer: a form that posts
   * `csrf`, `ticket` and `decision` (`approve` or `deny`) to `/consent`. A path or a URL is where it is: it
   * is opened with `?request=…`, reads `/consent/model` with that same query, and posts to `/consent/answer`.
   * Default: Tessera's own, in your theme.
   */
  readonly consentPage?: string | ((model: ConsentPage, workspace: string) => string | HttpResponse)

  /**
   * Told of every grant, refusal, revocation and change, as it happens. It is not waited for, and what it throws is
   * logged. Default: no listener.
   */
  readonly audit?: (entry: AuditEntry) => unknown

  /**
   * What is served beside the protocol: `settings` (the pages where people look after their applications and owners
   * after keys, applications, their documents, APIs and trusted issuers, under `/settings`), `home` (a page at `/`, that
   * leads there where they are), `health` (`/healthz`, `/readyz`), `openapi` (the document at `/openapi.json`), `example`
   * (the resource `/rest/companies`). Default: nothing.
   */
  readonly extras?: ReadonlyArray<Extra>

  /** Endpoints of your own that are served like Tessera's, each at a path of its own. Default: none. */
  readonly endpoints?: ReadonlyArray<Endpoint>

  /**
   * Removes what has expired and notes what was used, every minute or so, on timers that keep no process alive.
   * Where there can be no timers, turn it off and call `housekeep()`. Default: `true`.
   */
  readonly housekeeping?: boolean

  /** What is logged, to the console: everything, problems only, or nothing. Default: `"problems"`. */
  readonly log?: (typeof logLevels)[number]

  /** For tests: Effect's `TestClock`, say. Default: the system's clock. */
  readonly clock?: Clock.Clock
}

/** One of several workspaces. */
export interface WorkspaceOption {
  /** What your code calls it: 1 to 64 letters, digits, `-` and `_`. It stands in every record, and never changes. */
  readonly id: string
  /** Where it is found: a host of its own, `https://acme.product.example`, or a path of a host that it shares. */
  readonly issuer: string
  /** What people read on its pages. Default: the host name of `issuer`. */
  readonly name?: string
  /** The look of its pages. Default: the server's `theme`. */
  readonly theme?: ThemeOptions
  /** Its scopes. Default: the server's. */
  readonly scopes?: ReadonlyArray<ScopeOption>
  /** The APIs that its tokens are for, as in `CreateOptions`. Default: one, which is `issuer` and everything below it. */
  readonly resources?: ReadonlyArray<ResourceOption>
  /** The issuers whose assertions about its people are taken, as in `CreateOptions`. Default: none. */
  readonly trustedIssuers?: ReadonlyArray<TrustedIssuerOption>
  /** Answers everything with 503, and ends nothing. Default: `false`. */
  readonly disabled?: boolean
  /** The issuer that it had before, as in `CreateOptions`. */
  readonly movedFrom?: string
}

type Named = WorkspaceOption | null | undefined

export interface HostingOptions
  extends Omit<CreateOptions, "issuer" | "movedFrom" | "name" | "resources" | "trustedIssuers" | "workspaces"> {
  /**
   * The workspaces, each with people, applications, tokens and keys of its own: a list, told apart by host and path, or a
   * function that names the one at a host (`acme.product.example`, in lower case, with a port where there is one). What it
   * says is remembered for five seconds, and counts only where the issuer has that very host and no path.
   */
  readonly workspaces: ReadonlyArray<WorkspaceOption> | { readonly resolve: (host: string) => Named | Promise<Named> }
}
