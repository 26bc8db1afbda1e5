import { Context, Effect, Layer, Schema } from "effect"
import type { Voucher } from "../client/Client.ts"
import type { Instant, Millis } from "../rules/Instant.ts"

/**
 * The one way out to the network: documents and calls at addresses that strangers name, so an adapter refuses every address of a
 * private network, follows no redirect and sends no credentials. A server that fetches nothing has no adapter: composing
 * one is not asked of its host. A row of client authentications finds the port as `ports.documents`.
 */

/** Whose request an address is asked for. Strangers take none of the places of others, and each network a few of theirs. */
export interface Asker {
  readonly vouchedBy?: Voucher | undefined
  /** The network that the request came from, as far as the runtime knows it: it costs something, and few requests fetch. */
  readonly askedBy?: (() => string | undefined) | undefined
}

export interface DocumentLimits extends Asker {
  /** Bytes: a longer body is not read to its end. */
  readonly longest: number
  /** For name, connection, answer and body together. */
  readonly within: Millis
  /** The bounds of an answer's own `Cache-Control`. */
  readonly freshFor: { readonly least: Millis; readonly most: Millis }
}

export interface Document {
  /** JSON, of whatever kind: what is not is never kept. */
  readonly body: string
  /** When it was asked for. */
  readonly fetchedAt: Instant
  /** By its own `Cache-Control`, within the limits. A failure is never kept. */
  readonly freshUntil: Instant
}

export class DocumentFault extends Schema.TaggedError<DocumentFault>()("DocumentFault", {
  /** `busy`: the host, or the server, has as many fetches under way, or just had, as there may be. */
  reason: Schema.Literals([
    "no_adapter",
    "bad_address",
    "address_refused",
    "unreachable",
    "timed_out",
    "status",
    "redirected",
    "not_json",
    "too_long",
    "busy"
  ])
}) {}

export class Documents extends Context.Service<
  Documents,
  {
    /**
     * One fetch for all who wait for the same address; a kept document that is fresh needs none, but where it was asked
     * for before `asOf`. If that fetch fails, the kept one stays.
     */
    readonly fetch: (address: string, limits: DocumentLimits, asOf?: Instant) => Effect.Effect<Document, DocumentFault>
    /**
     * Sends a form to an address of which the same is asked, and gives the status of the answer: its body is not read. A
     * redirect is a fault.
     */
    readonly post: (
      address: string,
      form: string,
      limits: Pick<DocumentLimits, "within">
    ) => Effect.Effect<number, DocumentFault>
  }
>()("tessera/core/ports/Documents") {
  /** A server without an adapter. */
  static readonly none: Documents["Service"] = {
    fetch: () => Effect.fail(new DocumentFault({ reason: "no_adapter" })),
    post: () => Effect.fail(new DocumentFault({ reason: "no_adapter" }))
  }
  static readonly layerNone = Layer.succeed(Documents, Documents.none)
}
