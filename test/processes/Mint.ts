import { Effect, Layer, Option, Redacted, Result } from "effect"
import { Audit } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner } from "../../core/ports/ResourceOwner.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { grantIdOf, idLength, readClientId, UserId } from "../../core/rules/Id.ts"
import { readChallenge } from "../../core/rules/Pkce.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { matchRedirectUri, RedirectUri } from "../../core/rules/RedirectUri.ts"
import { allScopes } from "../../core/rules/Scope.ts"
import { makeTessera } from "../../core/Tessera.ts"
import { Keys, parseKeyRing } from "../../core/token/KeyRing.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type Application, challenge, redirectUri } from "./Application.ts"
import { issuer, sealKeys } from "./ServerProcess.ts"
import type { Store } from "./Store.ts"

const workspace = { id: WorkspaceId.make("default"), issuer: Issuer.make(issuer), name: "Tessera" }

const nobody = Layer.succeed(ResourceOwner, {
  current: () => Effect.succeedNone,
  signInAt: () => "/login",
  profile: () => Effect.succeedNone
})

/** Codes may be made long before a client comes for them. */
const policy = { ...standardPolicy, codeTtl: 60 * 60 * 1000 }

/** As much of a server as approves: codes without a browser for each, over the same store and by the same keys. */
export const openMint = Effect.fnUntraced(function* (store: Pick<Store, "layer">) {
  const { services } = yield* Effect.provide(
    makeTessera({ policy }),
    yield* Layer.build(
      Layer.mergeAll(
        store.layer,
        Entropy.layer,
        Keys.layer(Result.getOrThrow(parseKeyRing(Redacted.make(sealKeys)))),
        Audit.layerNone,
        nobody,
        RegistrationPolicy.layerClosed,
        Limiter.layerNone,
        Pages.layer(),
        Workspaces.layerOne(workspace)
      )
    )
  )
  const target = matchRedirectUri([RedirectUri.make(redirectUri)], redirectUri)
  if (target === undefined) throw new Error("a redirect URI that is not itself")
  const approved = {
    user: UserId.make("somebody"),
    redirectUri: target,
    challenge: Option.getOrThrow(readChallenge(challenge)),
    scope: allScopes(policy.scopes),
    resources: null
  }
  return {
    services,
    /** An authorization code that the application may redeem. */
    code: (application: Application) =>
      Effect.suspend(() =>
        services.grants.begin(
          workspace,
          { ...approved, client: Option.getOrThrow(readClientId(application.id)) },
          grantIdOf(services.entropy.bytes(idLength))
        )
      )
  }
})
