import { Effect, Option, Result, Schema } from "effect"
import { type AuthenticatedClient, authenticate, type Proof } from "../../client/authenticate.ts"
import { type Client, type StoredCredential, type Voucher, voucherOf } from "../../client/Client.ts"
import type { ClientIdentifier } from "../../client/ClientIdentifier.ts"
import { leastProfile, type Profile, profileOf } from "../../client/Profile.ts"
import type { RegistrationRequest } from "../../client/RegistrationRequest.ts"
import type { Members } from "../../codec/Json.ts"
import type { Fields, Sent } from "../../http/form.ts"
import type { HttpRequest } from "../../http/Http.ts"
import type { ClientKeys, KeySource } from "../../ports/ClientKeys.ts"
import type { Documents } from "../../ports/Documents.ts"
import type { Signatures } from "../../ports/Signatures.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import {
  InvalidClient,
  type InvalidClientMetadata,
  type InvalidRequest,
  type PortUnavailable
} from "../../rules/Refusal.ts"
import type { Credential } from "../../rules/Secret.ts"
import type { Workspace } from "../../workspace/Workspace.ts"

/** A request to an endpoint that clients authenticate at. */
export interface AuthRequest {
  readonly call: {
    readonly request: HttpRequest
    readonly workspace: Workspace
    /** The endpoint's path below the issuer. */
    readonly endpoint: string
    readonly now: Instant
    readonly requestId: string
  }
  readonly sent: Sent
  /** The Authorization header; empty where there is none. */
  readonly authorization: string
  /** RFC 6749 §2.3.1: the body's `client_id`. */
  readonly named: ClientIdentifier | undefined
  /** Who answers for the addresses of the client that it names. */
  readonly vouchedBy?: Voucher | undefined
}

/** What a row may ask beyond the request. Where the host composed no adapter, each answers that there is none. */
export interface AuthPorts {
  readonly policy: Pick<Policy, "profile">
  readonly signatures: Signatures["Service"]
  readonly clientKeys: ClientKeys["Service"]
  readonly documents: Documents["Service"]
}

export const unreadable = Result.fail(new InvalidClient({ reason: "unreadable", triedHeader: true }))
export const noneShown = Result.fail(new InvalidClient({ reason: "none_presented", triedHeader: false }))

/** What a request shows of one method; at the least, whose it says that it is. */
export interface Shown {
  readonly id: ClientIdentifier
}

type Read<S> = Result.Result<S, InvalidClient | InvalidRequest>

/** Why a proof failed, or could not be checked, which says nothing about the client. */
export type ProofFault = InvalidClient | PortUnavailable | StorageUnavailable

type MetadataLists = Readonly<Record<string, ReadonlyArray<string>>>

/** One method of client authentication (RFC 6749 §2.3), as a file of this folder writes it. */
export interface ClientAuthRow<S extends Shown, Stored extends StoredCredential> {
  /** Its `token_endpoint_auth_method` (RFC 7591 §2). */
  readonly name: string
  /** `false`: a request only names its client, which counts where it shows nothing of a method that proves. */
  readonly proves: boolean
  /** It verifies what clients sign: a server without an adapter for `Signatures` goes without the row. */
  readonly signs?: true
  /** The scheme of the Authorization header that it owns. */
  readonly scheme?: string
  /** The parameters of the body that it owns, beside `client_id`. */
  readonly fields: Fields
  /** `undefined`: the request shows nothing of this method. Two rows that are shown at once are `invalid_request`. */
  readonly shown: (request: AuthRequest) => Read<S> | undefined
  /** What the client's record keeps: plain JSON. Rows may share it, and then a client may use either. */
  readonly stored: Schema.Decoder<Stored>
  /** The members of a registration that it reads, beside those of every client. */
  readonly members?: Schema.Struct.Fields
  /** `drawn`: a fresh secret, which it may hand out. `kept`: what a registration that is changed had by then. */
  readonly register: (
    request: RegistrationRequest & Members,
    drawn: Credential,
    kept: Stored | undefined
  ) => Result.Result<Stored, InvalidClientMetadata>
  /** RFC 7591 §3.2.1: what of it the client is told as registered. */
  readonly told?: (stored: Stored) => Members
  /** The keys that a client of this row signs with, beyond its assertions: request objects. */
  readonly keys?: (stored: Stored) => KeySource
  /**
   * Succeeds where what was shown holds. `stored` is undefined where no such client may use the method: the same steps
   * are taken then, and what comes of them is not told. A row that waits for nothing answers with a finished effect.
   * `profile`: what the client is held to.
   */
  readonly prove: (
    shown: S,
    stored: Stored | undefined,
    request: AuthRequest,
    ports: AuthPorts,
    profile: Profile
  ) => Effect.Effect<Proof | undefined, ProofFault>
  /**
   * RFC 8414 §2: more lists, each without its endpoint's prefix: `auth_signing_alg_values_supported`.
   * `profile`: what every client of the server is held to.
   */
  readonly metadata?: MetadataLists | ((profile: Profile) => MetadataLists)
}

/** What a request shows of one row. */
export interface Claim {
  readonly id: ClientIdentifier
  /** Held against the client as it stands; never fails with what is for the client to know. */
  readonly prove: (
    client: Client | undefined,
    request: AuthRequest,
    ports: AuthPorts
  ) => Effect.Effect<Result.Result<AuthenticatedClient, ProofFault>>
}

/** A row of the table of client authentications. What it shows and stores is its own affair. */
export interface ClientAuth
  extends Pick<
    ClientAuthRow<Shown, StoredCredential>,
    "name" | "proves" | "signs" | "scheme" | "fields" | "members" | "metadata"
  > {
  readonly claim: (request: AuthRequest) => Read<Claim> | undefined
  /** `kept`: the client's credential so far. */
  readonly register: (
    request: RegistrationRequest & Members,
    drawn: Credential,
    kept: StoredCredential | undefined
  ) => Result.Result<StoredCredential, InvalidClientMetadata>
  readonly told: (credential: StoredCredential) => Members
  /** `undefined` where the row keeps none. */
  readonly keys: (credential: StoredCredential) => KeySource | undefined
}

type StoredReader<Stored> = (credential: StoredCredential) => Stored | undefined

/** Credentials are immutable and stay with their client, so each is decoded once. */
const readerOf = <Stored>(schema: Schema.Decoder<Stored>): StoredReader<Stored> => {
  const decode = Schema.decodeUnknownOption(schema)
  const known = new WeakMap<StoredCredential, Option.Option<Stored>>()
  return (credential) => {
    const before = known.get(credential)
    if (before !== undefined) return Option.getOrUndefined(before)
    const read = decode(credential)
    known.set(credential, read)
    return Option.getOrUndefined(read)
  }
}

/** A class, so that no request makes closures. */
class ShownClaim<S extends Shown, Stored extends StoredCredential> implements Claim {
  readonly row: ClientAuthRow<S, Stored>
  readonly read: StoredReader<Stored>
  readonly shown: S

  constructor(row: ClientAuthRow<S, Stored>, read: StoredReader<Stored>, shown: S) {
    this.row = row
    this.read = read
    this.shown = shown
  }

  get id(): ClientIdentifier {
    return this.shown.id
  }

  prove(client: Client | undefined, request: AuthRequest, ports: AuthPorts) {
    const stored = client === undefined ? undefined : this.read(client.credential)
    const triedHeader = request.authorization !== ""
    const profile = client === undefined ? leastProfile(ports.policy) : profileOf(client, ports.policy)
    const vouchedBy = client === undefined ? undefined : voucherOf(client)
    const asked = vouchedBy === undefined ? request : { ...request, vouchedBy }
    const counts = profile.methods === null || profile.methods.includes(this.row.name)
    return Effect.mapEager(
      Effect.matchEager(this.row.prove(this.shown, stored, asked, ports, profile), held),
      (proved): Result.Result<AuthenticatedClient, ProofFault> =>
        authenticate(client, counts && stored !== undefined, proved, triedHeader)
    )
  }
}

type Proved = Result.Result<Proof | undefined, ProofFault>

const held = {
  onSuccess: (proof: Proof | undefined): Proved => Result.succeed(proof),
  onFailure: (fault: ProofFault): Proved => Result.fail(fault)
}

/** Makes a row of the table, which has rows of all kinds, out of one that says what it shows and stores. */
export const clientAuth = <S extends Shown, Stored extends StoredCredential>(
  row: ClientAuthRow<S, Stored>
): ClientAuth => {
  const read = readerOf(row.stored)
  const { fields, keys, members, metadata, name, proves, scheme, signs, told } = row
  return {
    name,
    proves,
    fields,
    ...(signs === undefined ? {} : { signs }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(members === undefined ? {} : { members }),
    ...(metadata === undefined ? {} : { metadata }),
    claim: (request) => {
      const shown = row.shown(request)
      if (shown === undefined) return undefined
      return Result.isFailure(shown)
        ? Result.fail(shown.failure)
        : Result.succeed(new ShownClaim(row, read, shown.success))
    },
    register: (request, drawn, kept) => row.register(request, drawn, kept === undefined ? undefined : read(kept)),
    told: (credential) => {
      const stored = read(credential)
      return stored === undefined || told === undefined ? {} : told(stored)
    },
    keys: (credential) => {
      const stored = keys === undefined ? undefined : read(credential)
      return stored === undefined ? undefined : keys?.(stored)
    }
  }
}
