import { Context, Effect, Layer, Redacted } from "effect"
import type { DocumentHosts } from "../rules/DocumentHosts.ts"
import { RegistrationRefused } from "../rules/Refusal.ts"
import { digestOf, sameDigest } from "../rules/Secret.ts"
import type { Workspace } from "../workspace/Workspace.ts"

/** Who may register a client (RFC 7591 §3), or bring its metadata document instead. */
export class RegistrationPolicy extends Context.Service<
  RegistrationPolicy,
  {
    /** Whether there is a registration endpoint to speak of in the metadata. */
    readonly offered: boolean
    /** `presented`: the initial access token that came with the request. */
    readonly permit: (
      workspace: Workspace,
      presented: Redacted.Redacted<string> | undefined
    ) => Effect.Effect<void, RegistrationRefused>
    /** Without it, no document is fetched. */
    readonly documents?: DocumentHosts
  }
>()("tessera/core/ports/RegistrationPolicy") {
  /**
   * A metadata document is a registration that its host vouches for, so a server that takes any of these takes those
   * too.
   */
  static readonly layerOpen = Layer.succeed(RegistrationPolicy, {
    offered: true,
    permit: () => Effect.void,
    documents: "any"
  })

  static readonly layerClosed = Layer.succeed(RegistrationPolicy, {
    offered: false,
    permit: () => Effect.fail(new RegistrationRefused({ reason: "closed" }))
  })

  static readonly layerToken = (expected: Redacted.Redacted<string>) => {
    const digest = digestOf(Redacted.value(expected))
    return Layer.succeed(RegistrationPolicy, {
      offered: true,
      permit: (_workspace, presented) => {
        if (presented === undefined) return Effect.fail(new RegistrationRefused({ reason: "token_missing" }))
        return sameDigest(digestOf(Redacted.value(presented)), digest)
          ? Effect.void
          : Effect.fail(new RegistrationRefused({ reason: "token_wrong" }))
      }
    })
  }

  /** The same with documents from these hosts; from none, where there are none. */
  static readonly withDocuments = <E, R>(
    layer: Layer.Layer<RegistrationPolicy, E, R>,
    documents: DocumentHosts
  ): Layer.Layer<RegistrationPolicy, E, R> =>
    Layer.effect(
      RegistrationPolicy,
      RegistrationPolicy.useSync(({ documents: _, ...policy }) =>
        documents.length === 0 ? policy : { ...policy, documents }
      )
    ).pipe(Layer.provide(layer))
}
