import { Effect, Schema } from "effect"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import type { Members } from "../codec/Json.ts"
import type { UnverifiedJws } from "../codec/Jws.ts"
import { type ClientKeys, type KeySource, type KeysFault, keysFrom } from "../ports/ClientKeys.ts"
import type { Asker } from "../ports/Documents.ts"
import { adapterFault, type SignatureFault, type Signatures } from "../ports/Signatures.ts"
import type { Algorithm } from "../rules/Jwk.ts"
import { PortUnavailable } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** Why what a client sent is not signed by the client. */
export class ClientSignatureFault extends Schema.TaggedError<ClientSignatureFault>()("ClientSignatureFault", {
  reason: Schema.Literals(["key_unknown", "algorithm", "forged"])
}) {}

interface Ports {
  readonly signatures: Signatures["Service"]
  readonly clientKeys: ClientKeys["Service"]
}

/** Whose signature it has to be, and what its header says of it, unverified. */
interface SignedBy {
  readonly workspace: WorkspaceId
  readonly client: ClientIdentifier
  readonly source: KeySource
  readonly asker?: Asker
  readonly kid: string | undefined
  readonly algorithm: Algorithm
}

const wrong = (reason: ClientSignatureFault["reason"]) => new ClientSignatureFault({ reason })

// Keys that cannot be had say nothing about the client; keys that are none are its own mistake.
const notHad = ({ reason }: KeysFault): ClientSignatureFault | PortUnavailable =>
  reason === "malformed" ? wrong("key_unknown") : new PortUnavailable({ port: "client_keys", reason })

const notSigned = ({ reason }: SignatureFault): ClientSignatureFault => {
  if (reason === "no_key") return wrong("key_unknown")
  return wrong(reason === "algorithm" ? reason : "forged")
}

/** A JWT that a client signed by one of its own keys: an assertion, or a request object. */
export const verifiedOfClient = (
  { clientKeys, signatures }: Ports,
  jws: UnverifiedJws,
  { algorithm, asker, client, kid, source, workspace }: SignedBy
): Effect.Effect<{ readonly header: Members; readonly claims: Members }, ClientSignatureFault | PortUnavailable> =>
  Effect.flatMapEager(
    Effect.mapErrorEager(keysFrom(clientKeys, { workspace, client }, source, kid, asker), notHad),
    (keys) =>
      Effect.mapError(signatures.verify(jws, keys, [algorithm]), (fault) => adapterFault(fault) ?? notSigned(fault))
  )
