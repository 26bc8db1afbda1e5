import { Effect, Layer, Option } from "effect"
import { Tessera } from "../../core/http/Tessera.ts"
import { LimitSharing, layer as sharedLimiter } from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner } from "../../core/ports/ResourceOwner.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { type KeyRing, Keys } from "../../core/token/KeyRing.ts"
import { auditLog } from "./auditLog.ts"
import { openStorage } from "./openStorage.ts"
import type { Registration, Settings } from "./Settings.ts"

const registrationPolicy = (registration: Registration) => {
  switch (registration._tag) {
    case "Open":
      return RegistrationPolicy.layerOpen
    case "Closed":
      return RegistrationPolicy.layerClosed
    case "Token":
      return RegistrationPolicy.layerToken(registration.token)
  }
}

const nobody = Layer.succeed(ResourceOwner, {
  current: () => Effect.succeed(Option.none()),
  signInAt: (_workspace, returnTo) => `/login?return_to=${encodeURIComponent(returnTo)}`,
  profile: () => Effect.succeed(Option.none())
})

const noLimits = Layer.merge(Limiter.layerNone, Layer.succeed(LimitSharing, { share: Effect.succeed(0) }))

/** The authorization server as these settings want it, with its storage open. */
export const application = (settings: Settings, ring: KeyRing) =>
  Tessera.layer({ policy: settings.policy }).pipe(
    Layer.provideMerge(settings.rateLimits ? sharedLimiter : noLimits),
    Layer.provideMerge(openStorage(settings.database)),
    Layer.provide([
      Entropy.layer,
      Keys.layer(ring),
      auditLog,
      nobody,
      registrationPolicy(settings.registration),
      Pages.layer(),
      Workspaces.layerOne(settings.workspace)
    ])
  )
