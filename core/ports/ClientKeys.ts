import { Context, Effect, Layer, Schema } from "effect"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import type { PublicKey } from "../rules/Jwk.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Asker } from "./Documents.ts"

/**
 * The public keys of a client or of a trusted issuer that are at an address (`jwks_uri`). A server whose clients sign
 * nothing has no adapter: composing one is not asked of its host. A row of client authentications finds the port as
 * `ports.clientKeys`, beside the request that it judges.
 */

/** RFC 7591 §2: one of the two, never both. An owner names the keys of an issuer, which are asked for in the same way. */
export type KeySource =
  | { readonly _tag: "Registered"; readonly keys: ReadonlyArray<PublicKey> }
  | { readonly _tag: "Fetched"; readonly jwksUri: string }

/** Where keys are asked for, and for whom. */
export type FetchedKeySource = Extract<KeySource, { readonly _tag: "Fetched" }> & Asker

export class KeysFault extends Schema.TaggedError<KeysFault>()("KeysFault", {
  /** `unreachable`: nothing is known about the client, so it is no failed authentication. */
  reason: Schema.Literals(["no_adapter", "unreachable", "malformed"])
}) {}

export class ClientKeys extends Context.Service<
  ClientKeys,
  {
    /**
     * The keys that may have made a signature: that of this `kid`, or all where the signature names none. A `kid` that is
     * not known makes an adapter fetch the keys again, once in a while.
     */
    readonly find: (
      of: { readonly workspace: WorkspaceId; readonly client: ClientIdentifier },
      source: FetchedKeySource,
      kid: string | undefined
    ) => Effect.Effect<ReadonlyArray<PublicKey>, KeysFault>
  }
>()("tessera/core/ports/ClientKeys") {
  /** A server without an adapter. */
  static readonly none: ClientKeys["Service"] = {
    find: () => Effect.fail(new KeysFault({ reason: "no_adapter" }))
  }
  static readonly layerNone = Layer.succeed(ClientKeys, ClientKeys.none)
}

/** Registered keys are at hand; others are asked for where they were said to be. */
export const keysFrom = (
  clientKeys: ClientKeys["Service"],
  of: Parameters<ClientKeys["Service"]["find"]>[0],
  source: KeySource,
  kid: string | undefined,
  asker: Asker = {}
): Effect.Effect<ReadonlyArray<PublicKey>, KeysFault> =>
  source._tag === "Registered" ? Effect.succeed(source.keys) : clientKeys.find(of, { ...source, ...asker }, kid)
