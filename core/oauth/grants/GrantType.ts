import type { Effect, Option, Result } from "effect"
import { Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import type { Client } from "../../client/Client.ts"
import type { RegistrableGrantType } from "../../client/RegistrableGrantType.ts"
import type { Decision } from "../../grant/Decision.ts"
import type { Grant } from "../../grant/Grant.ts"
import type { Tokens } from "../../grant/issue.ts"
import type { UserPrincipal, WorkspacePrincipal } from "../../grant/Principal.ts"
import type { Step } from "../../grant/Step.ts"
import type { Fault, FaultClass } from "../../http/Fault.ts"
import type { Fields, Read } from "../../http/form.ts"
import type { ClientKeys } from "../../ports/ClientKeys.ts"
import type { Allowance } from "../../ports/Limiter.ts"
import type { Asserted } from "../../ports/ResourceOwner.ts"
import type { Signatures } from "../../ports/Signatures.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { GrantId, UserId } from "../../rules/Id.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import type {
  AccessDenied,
  AuthorizationPending,
  Contended,
  ExpiredToken,
  InvalidGrant,
  InvalidToken,
  Overloaded,
  SlowDown
} from "../../rules/Refusal.ts"
import type { AccessToken, Token } from "../../token/Token.ts"
import type { OpenWorkspace } from "../../workspace/Workspace.ts"

/** What a row finds its grant by. */
export interface Opener {
  /** A token as the form shows it. What fails here never reaches storage. */
  readonly open: <K extends Token["kind"]>(
    kind: K,
    text: string
  ) => Result.Result<Extract<Token, { readonly kind: K }>, InvalidGrant>
  /** The id of a grant that is yet to be made. */
  readonly drawId: () => GrantId
}

/** An access token that is good now. */
export interface LiveAccess {
  readonly token: AccessToken
  readonly principal: UserPrincipal | WorkspacePrincipal
}

/** RFC 8628 §3.5: the grant that a person's approval made for the device with this code. */
export type Approved = (
  by: AuthenticatedClient,
  deviceCode: string
) => Effect.Effect<
  GrantId,
  AccessDenied | AuthorizationPending | ExpiredToken | InvalidGrant | SlowDown | StorageUnavailable
>

/** What a row may find out before its decision, which is a pure function. */
export interface Sources {
  /** An access token, sealed or a JWT, as a resource would find it; but its bearer proved to hold its key. */
  readonly accessToken: (text: string) => Effect.Effect<LiveAccess, InvalidToken | StorageUnavailable>
  readonly approved: Approved
  readonly workspace: OpenWorkspace
  /** As it holds in the workspace. */
  readonly policy: Policy
  readonly now: Instant
  readonly signatures: Signatures["Service"]
  readonly clientKeys: ClientKeys["Service"]
  /** The person of the workspace whom a trusted issuer means; made where that is so wished. */
  readonly person: (
    asserted: Asserted,
    make: boolean
  ) => Effect.Effect<Option.Option<UserId>, Contended | Overloaded | StorageUnavailable>
}

/** The grant that a request is about, and the form with its tokens opened. */
export interface About<Opened> {
  readonly grant: GrantId
  /** `client`: the client's own grant, of which the decision may be made on a copy that is a moment old. */
  readonly from: "token" | "client" | "drawn"
  readonly form: Opened
}

/**
 * A row of the table of grant types, by which the token endpoint, the metadata, registration and the OpenAPI document
 * know it. Its functions are methods, so that rows of different forms stand in one list: each gets what its form read.
 */
export interface GrantType<
  F extends Fields = Fields,
  Opened = unknown,
  R extends FaultClass = FaultClass,
  Evidence = unknown
> extends RegistrableGrantType {
  /** How the OpenAPI document names and describes the form. */
  readonly documents: { readonly identifier: string; readonly description: string }
  /** The flow of the OpenAPI document's security scheme (RFC 6749 §1.3), where it has one. */
  readonly flow?: "authorizationCode" | "clientCredentials" | "refresh"
  /** The parameters beside `grant_type` and the client's own, in the order in which they are checked. */
  readonly form: F
  /** Which of them name resources (RFC 8707): they are held against the registry and reach the decision together. */
  readonly targets?: ReadonlyArray<string>
  /** What it may refuse by, beyond what every request to the token endpoint may be refused by. */
  readonly faults: ReadonlyArray<R>
  /** RFC 8693 §2.2.1: what its answers say beside the tokens, whatever they are. */
  readonly answers?: Readonly<Record<string, string>>
  /** It verifies signatures: a server without an adapter for `Signatures` goes without the row. */
  readonly signs?: true
  /** Whether a server of this policy has it at all; without it, always. */
  offered?(policy: Policy): boolean
  /** What `gather` comes to only for who shows a text of ours: it takes nothing of the share of its network. */
  isKnown?(fault: Fault): boolean
  /** The profiles of it that the metadata names. */
  readonly profiles?: ReadonlyArray<string>
  /** No person lets the client in by it: it stays as unknown, or as well known, as it was. */
  readonly meetsNobody?: true
  /** Of a client that brings its document, and so cannot be given the row itself: whether the workspace gives it all the same. */
  givenIn?(workspace: OpenWorkspace, client: Client): boolean
  /** What is asked of others than the request, once the form is read; where it is not there, nothing. */
  gather?(form: Read<F>, by: AuthenticatedClient, sources: Sources): Effect.Effect<Evidence, R["Type"] | Fault>
  grantOf(
    form: Read<F>,
    by: AuthenticatedClient,
    opener: Opener,
    evidence: Evidence
  ): Result.Result<About<Opened>, R["Type"]>
  /** Taken by each client for each grant, before the grant is read. */
  readonly allowance?: Allowance
  /** A function of what it is given: it may be asked again where two requests meet on one grant. */
  decide(found: Grant | undefined, step: Step<Opened>): Decision<Tokens, R["Type"]>
}

/** A row, with the types of its form and of its refusals found in it. */
export const grantType = <const F extends Fields, Opened, R extends FaultClass, Evidence = undefined>(
  row: GrantType<F, Opened, R, Evidence>
): GrantType<F, Opened, R, Evidence> => row

/** RFC 8707: in a row's form, it is held against the registry at its place, and reaches the decision as `step.resources`. */
export const resource = Schema.optionalKey(
  Schema.Array(Schema.String).annotate({
    description:
      "RFC 8707: what the token is to be for, of what was granted: the issuer, or an API that the server knows. May come more than once."
  })
)
