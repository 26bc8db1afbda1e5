import { Effect, Schema } from "effect"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import type { Members } from "../codec/Json.ts"
import type { UnverifiedJws } from "../codec/Jws.ts"
import type { ClientKeys, KeySource } from "../ports/ClientKeys.ts"
import type { Asker } from "../ports/Documents.ts"
import { adapterFault, type SignatureFault, type Signatures } from "../ports/Signatures.ts"
import type { Algorithm, PublicKey } from "../rules/Jwk.ts"
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
export interface SignedBy {
  readonly workspace: WorkspaceId
  readonly client: ClientIdentifier
  readonly source: KeySource
  readonly asker?: Asker
  readonly kid: string | undefined
  readonly algorithm: Algorithm
}

const wrong = (reason: ClientSignatureFault["reason"]) => new ClientSignatureFault({ reason })

/** The registered keys are at hand; others are asked for where the client said that they are. */
const keysOf = (
  { clientKeys }: Ports,
  { asker, client, kid, source, workspace }: SignedBy
): Effect.Effect<ReadonlyArray<PublicKey>, ClientSignatureFault | PortUnavailable> =>
  source._tag === "Registered"
    ? Effect.succeed(source.keys)
    : Effect.catchTag(clientKeys.find({ workspace, client }, { ...source, ...asker }, kid), "KeysFault", ({ reason }) =>
        Effect.fail(
          // Keys that cannot be had say nothing about the client; keys that are none are its own mistake.
          reason === "malformed" ? wrong("key_unknown") : new PortUnavailable({ port: "client_keys", reason })
        )
      )

const notSigned = ({ reason }: SignatureFault): ClientSignatureFault => {
  if (reason === "no_key") return wrong("key_unknown")
  return wrong(reason === "algorithm" ? reason : "forged")
}

/** A JWT that a client signed by one of its own keys: an assertion, or a request object. */
export const verifiedOfClient = (
  ports: Ports,
  jws: UnverifiedJws,
  by: SignedBy
): Effect.Effect<{ readonly header: Members; readonly claims: Members }, ClientSignatureFault | PortUnavailable> =>
  Effect.flatMapEager(keysOf(ports, by), (keys) =>
    Effect.mapError(
      ports.signatures.verify(jws, keys, [by.algorithm]),
      (fault) => adapterFault(fault) ?? notSigned(fault)
    )
  )
