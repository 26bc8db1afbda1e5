import type { PlaceName, WorkspaceNumber } from "../model/World.ts"

/** Things are named after the command that made them, so a script keeps its meaning when other lines are taken out. */
export type Ref = number

/**
 * How a confidential client proves itself. `wrong` is a wrong secret (an unknown id, for a public client). A client of one
 * of the world's own methods uses that where `post` or `basic` stands.
 */
export type Proof = "post" | "basic" | "wrong" | "missing" | "both"

/** How a client that signs writes the assertion beside a request (RFC 7523 §3). */
export interface SignedAs {
  readonly key: KeyName
  /** Until its end, from the second in which it is sent, in seconds. */
  readonly lives: number
  readonly audience: "issuer" | "endpoint" | "elsewhere" | "several"
  /** The command whose assertion has the same id; without it, it has one of its own. */
  readonly idOf?: Ref | undefined
}

/** What is presented where a token is asked for. */
export interface Presented {
  readonly kind: "access" | "refresh" | "code" | "garbage"
  readonly ref: Ref
}

/** `by …`: one of the world's own methods of client authentication. */
export type ClientKind =
  | "public"
  | "post"
  | "basic"
  | "unsaid"
  | "service"
  | "both"
  /** Without a browser, public or not; the other one asks for codes as well. Drawn where the world has devices. */
  | "device"
  | "device with a secret"
  /** One that signs (RFC 7523 §2.2): drawn where the world has them. */
  | "signer"
  /** One that an owner registers for assertions: drawn where the world has them. */
  | "enterprise"
  /** One that brings a metadata document instead of registering: drawn where the world has them. */
  | "document"
  | `by ${string}`

export const hasNoSecret = (kind: ClientKind | undefined): boolean =>
  kind === "public" || kind === "device" || kind === "document"

/** Registrations that must be refused. */
export const oddRegistrations = [
  "public service",
  "no redirects",
  "fragment",
  "http elsewhere",
  "scheme without a dot",
  "javascript",
  "relative",
  "not json",
  "unknown auth method"
] as const
export type OddRegistration = (typeof oddRegistrations)[number]

/** A client's registration; of one that brings a document, its first one, which names all of the redirect URIs. */
export interface Register {
  readonly _tag: "Register"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  readonly kind: ClientKind
  readonly redirects: ReadonlyArray<string>
  readonly odd: OddRegistration | null
  /** It is told of sign-outs, at the host of its first redirect URI (OpenID Connect Back-Channel Logout §2.2). */
  readonly isTold?: boolean | undefined
}

/**
 * What stands at the address of a client's document: one that names these of its redirect URIs, one of which no client
 * comes, or nothing.
 */
export type Published = "all" | "the first" | "the last" | "no client" | "nothing"

/** The document of a client is another from now on. Who reads it in the same moment reads it before that. */
export interface Publish {
  readonly _tag: "Publish"
  readonly id: Ref
  readonly client: Ref
  readonly says: Published
}

/** An owner takes no documents from the host of a client any more, or again after a while. */
export interface BlockHost {
  readonly _tag: "BlockHost"
  readonly id: Ref
  readonly client: Ref
  readonly blocks: boolean
}

/** A redirect URI that is not simply the registered one. `port` is right for a loopback URI and wrong for others. */
export type RedirectTwist = "as registered" | "port" | "longer" | "shorter" | "elsewhere" | "upper case" | "missing"

export type ChallengeKind = "S256" | "none" | "plain" | "no method" | "short" | "odd characters"

export type ResourceAsk =
  | "none"
  | "issuer"
  | "slash"
  | "below"
  | "elsewhere"
  | "other workspace"
  /** Two at once, one of them, and two of which one is no API of this server: drawn where the world has APIs. */
  | "two"
  | "the other"
  | "one of elsewhere"

/** A key that a client or an issuer holds. */
export type KeyName = "first" | "second"

/** The key that a proof beside a request is made with (RFC 9449 §4); `forged`: it names the first, which did not sign. */
export type ShownKey = KeyName | "forged"

/** Claims that a request asks for one by one of the person who signs in (OpenID Connect Core §5.5). */
export const claimsAsked = {
  "name in the ID token": { id_token: { name: null } },
  "name at userinfo": { userinfo: { name: { essential: true } } },
  "time of sign-in": { id_token: { auth_time: null } },
  "name and time": { id_token: { auth_time: { essential: true }, name: null }, userinfo: { nobody_knows: null } },
  "only ann": { id_token: { sub: { value: "ann" } } },
  "only bob": { userinfo: { sub: { value: "bob" } } },
  "no claims": ["name"]
} as const
export type ClaimsAsked = keyof typeof claimsAsked

/** What a client asks a person for. */
interface Asked {
  readonly id: Ref
  readonly client: Ref
  readonly user: string
  /** Which of the client's redirect URIs. */
  readonly redirect: number
  readonly twist: RedirectTwist
  readonly scope: string | null
  readonly challenge: ChallengeKind
  readonly resource: ResourceAsk
  readonly responseType: "code" | "token" | null
  readonly state: string | null
  /** `dpop_jkt` (RFC 9449 §10). */
  readonly jkt?: KeyName | undefined
  /** OpenID Connect Core §3.1.2.1; a `max_age` that every session keeps to. */
  readonly nonce?: string | undefined
  readonly maxAge?: boolean | undefined
  /** One that not every session keeps to, in seconds. */
  readonly fresh?: number | undefined
  readonly prompt?: string | undefined
  readonly claims?: ClaimsAsked | undefined
  /** The command whose answer had the ID token that is sent as a hint. */
  readonly hint?: Ref | undefined
}

export interface Authorize extends Asked {
  readonly _tag: "Authorize"
  /** A parameter that is sent twice. */
  readonly twice: "scope" | "state" | "client_id" | "redirect_uri" | null
}

/** RFC 9126: the client itself asks, of the person whose browser will come with the request. */
export interface Push extends Asked {
  readonly _tag: "Push"
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly key?: ShownKey | undefined
}

/** A browser that comes with a pushed request, and says whose it is. */
export interface Visit {
  readonly _tag: "Visit"
  readonly id: Ref
  readonly request: Ref
  readonly client: Ref
}

/** RFC 8628 §3.1: a client without a browser asks the person who will enter its code. */
export interface AskDevice {
  readonly _tag: "AskDevice"
  readonly id: Ref
  readonly client: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly scope: string | null
  readonly resource: ResourceAsk
}

/** RFC 8628 §3.3: a person enters the code of a device on the page for it, and goes where that leads. */
export interface Enter {
  readonly _tag: "Enter"
  readonly id: Ref
  readonly device: Ref
  readonly user: string
  readonly workspace: WorkspaceNumber
  readonly by: "viewer" | "forger"
}

/** RFC 8628 §3.4. */
export interface Poll {
  readonly _tag: "Poll"
  readonly id: Ref
  readonly device: Ref
  readonly shows: "the device code" | "the user code" | "garbage"
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly resource: ResourceAsk
}

/** What an owner says of a client: the API that it is, whose tokens it may exchange, or none. */
export interface AllowExchange {
  readonly _tag: "AllowExchange"
  readonly id: Ref
  readonly client: Ref
  readonly serves: ResourceAsk
}

/**
 * An owner of a workspace answers a client that asks to act for it, by what the client goes by, or looks at how that stands.
 */
export interface AnswerClient {
  readonly _tag: "AnswerClient"
  readonly id: Ref
  readonly client: Ref
  readonly workspace: WorkspaceNumber
  readonly says: "approved" | "refused" | "nothing"
}

/** RFC 8693 §2.1. */
export interface Exchange {
  readonly _tag: "Exchange"
  readonly id: Ref
  readonly token: Presented
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly scope: string | null
  readonly resource: ResourceAsk
}

/** An issuer of assertions about people. */
export type AsserterName = "acme" | "globex"

/** How far an owner trusts an issuer. */
export interface TrustTerms {
  readonly key: KeyName
  readonly people: "known" | "made"
  readonly takes: "id-jag" | "any"
  /** The most that it can grant; `null`: what the client may have. */
  readonly scopes: string | null
}

/** An owner trusts an issuer from now on, or on other terms; `null`: no more. */
export interface TrustIssuer {
  readonly _tag: "TrustIssuer"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  readonly issuer: AsserterName
  readonly terms: TrustTerms | null
}

/** An issuer says who a person is: an ID-JAG, or any JWT (RFC 7523 §3). */
export interface Attest {
  readonly _tag: "Attest"
  readonly id: Ref
  readonly issuer: AsserterName
  readonly key: KeyName
  readonly kind: "id-jag" | "plain"
  readonly subject: string
  /** The workspace that it is about; `here`: it is for that one alone. */
  readonly workspace: WorkspaceNumber
  readonly audience: "here" | "elsewhere" | "here and elsewhere" | "the token endpoint"
  /** Its `client_id`. */
  readonly names: Ref | null
  /** In seconds. */
  readonly lives: number
  readonly scope: string | null
  readonly resource: ResourceAsk
}

/** RFC 7523 §2.1: a client brings what an issuer said. */
export interface Bring {
  readonly _tag: "Bring"
  readonly id: Ref
  readonly assertion: Ref
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly scope: string | null
  readonly resource: ResourceAsk
}

/** The session of a person ends in a workspace, by whatever they sign out with. */
export interface EndSession {
  readonly _tag: "EndSession"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  readonly user: string
}

/** OpenID Connect RP-Initiated Logout: an application, or a link, sends a browser to be signed out. */
export interface SignOut {
  readonly _tag: "SignOut"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  /** The person at the browser; `null`: none is signed in. */
  readonly who: string | null
  readonly client: Ref | null
  /** The command whose answer had the ID token; `garbage`: a text that no key signed. */
  readonly hint: Ref | "garbage" | null
  readonly target: "none" | "registered" | "elsewhere"
  readonly state: string | null
  /** Who posts the page's form: the person who sees it, or a forger without its csrf field. An onlooker posts none. */
  readonly by: "viewer" | "onlooker" | "forger"
}

/** The host says which places a person has, from now on. */
export interface Belong {
  readonly _tag: "Belong"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  readonly user: string
  readonly places: ReadonlyArray<PlaceName>
}

/** All ends that a person let clients have at a place, or one client have. */
export interface EndAll {
  readonly _tag: "EndAll"
  readonly id: Ref
  readonly workspace: WorkspaceNumber
  readonly user: string
  readonly place?: PlaceName | undefined
  readonly client?: Ref | undefined
}

export interface Decide {
  readonly _tag: "Decide"
  readonly id: Ref
  readonly page: Ref
  readonly decision: "approve" | "deny"
  /** The place that is chosen on the page. */
  readonly place?: PlaceName | undefined
  /** Who posts the form: the person who saw it, another person, or a forger without its csrf field. */
  readonly by: "viewer" | "somebody else" | "forger"
}

export interface Redeem {
  readonly _tag: "Redeem"
  readonly id: Ref
  /** The `Decide` that gave the code. */
  readonly code: Ref
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly verifier: "right" | "wrong" | "missing" | "short"
  readonly redirect: "same" | "other" | "missing"
  readonly resource: ResourceAsk
  readonly key?: ShownKey | undefined
}

export interface Refresh {
  readonly _tag: "Refresh"
  readonly id: Ref
  /** The command whose answer carried the refresh token. */
  readonly token: Presented
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly scope: string | null
  readonly resource: ResourceAsk
  readonly key?: ShownKey | undefined
}

export interface ClientCredentials {
  readonly _tag: "ClientCredentials"
  readonly id: Ref
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly scope: string | null
  readonly resource: ResourceAsk
  readonly key?: ShownKey | undefined
}

/** A request by a grant type of the host's own. */
export interface OwnGrant {
  readonly _tag: "OwnGrant"
  readonly id: Ref
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  /** The name of its row. */
  readonly grantType: string
  readonly fields: { readonly [name: string]: string }
}

export interface Revoke {
  readonly _tag: "Revoke"
  readonly id: Ref
  readonly token: Presented
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
  readonly hint: "access_token" | "refresh_token" | "nonsense" | null
}

export interface Introspect {
  readonly _tag: "Introspect"
  readonly id: Ref
  readonly token: Presented
  readonly by: Ref
  readonly proof: Proof
  readonly signed?: SignedAs | undefined
}

export interface Check {
  readonly _tag: "Check"
  readonly id: Ref
  readonly token: Presented | null
  /** `guard`: at a resource of the host's own, which is told whose call it lets through. */
  readonly at: "companies" | "userinfo" | "guard"
  readonly workspace: WorkspaceNumber
  readonly key?: ShownKey | undefined
}

export interface DeleteClient {
  readonly _tag: "DeleteClient"
  readonly id: Ref
  readonly client: Ref
  /** Whose registration access token is shown; `null`: a made-up one. */
  readonly with: Ref | null
}

/** A client that signs says that it has another key from now on (RFC 7592 §2.2). */
export interface Rekey {
  readonly _tag: "Rekey"
  readonly id: Ref
  readonly client: Ref
  readonly key: KeyName
  /** Whose registration access token is shown; `null`: a made-up one. */
  readonly with: Ref | null
}

export interface Wait {
  readonly _tag: "Wait"
  readonly id: Ref
  readonly millis: number
  /** What the moment is near to. */
  readonly until: string
}

export interface Housekeeping {
  readonly _tag: "Housekeeping"
  readonly id: Ref
  readonly what: "add a key" | "drop the oldest key" | "sweep"
}

/** One HTTP exchange, or one thing done to the system. */
export type Step =
  | Register
  | Publish
  | BlockHost
  | Authorize
  | Push
  | Visit
  | AskDevice
  | Enter
  | Poll
  | AllowExchange
  | AnswerClient
  | Exchange
  | TrustIssuer
  | Attest
  | Bring
  | EndSession
  | SignOut
  | Belong
  | EndAll
  | Decide
  | Redeem
  | Refresh
  | ClientCredentials
  | OwnGrant
  | Revoke
  | Introspect
  | Check
  | DeleteClient
  | Rekey
  | Wait
  | Housekeeping

/** What happens to a write: `lost` are answers that never came, whether it was applied or not. */
export interface Fault {
  readonly what: "not done" | "lost, not applied" | "lost, applied" | "killed before" | "killed after"
  /** Which one of them, or the one of the key that the server signs with from then on. */
  readonly write: 1 | 2 | 3 | "signing key"
}

/** Steps at the same time. They must come out as if they had come one after the other, in some order. */
export interface Together {
  readonly _tag: "Together"
  readonly id: Ref
  readonly steps: ReadonlyArray<Step>
}

export interface Troubled {
  readonly _tag: "Troubled"
  readonly id: Ref
  readonly fault: Fault
  readonly during: Step | Together
}

export type Command = Step | Troubled | Together

export type Script = ReadonlyArray<Command>

export const stepsOf = (command: Command): ReadonlyArray<Step> => {
  switch (command._tag) {
    case "Troubled":
      return stepsOf(command.during)
    case "Together":
      return command.steps
    default:
      return [command]
  }
}
