import { endpoints } from "../../core/oauth/endpoints/table.ts"
import "../serve/platformHashing.ts"
import { Effect, Layer } from "effect"
import * as documents from "../../adapters/documents/Documents.ts"
import { layer as signatures } from "../../adapters/jose/Signatures.ts"
import { layer as passwordHasher } from "../../adapters/password/Password.ts"
import type { Store } from "../../adapters/StoreKind.ts"
import { CacheSize } from "../../core/engine/caches.ts"
import * as fetchedKeys from "../../core/engine/FetchedKeys.ts"
import type { MayMove } from "../../core/engine/Openings.ts"
import { limitsOf } from "../../core/limits/SharedLimiter.ts"
import { Accounts } from "../../core/people/Accounts.ts"
import { resourceOwnerLayer } from "../../core/people/resourceOwner.ts"
import { signInEndpoints } from "../../core/people/signInEndpoints.ts"
import type { Audit } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { accountSettingsEndpoints } from "../../core/settings/accountSettingsEndpoints.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Tessera } from "../../core/Tessera.ts"
import { type KeyRing, Keys } from "../../core/token/KeyRing.ts"
import { isOnLoopback } from "../../core/workspace/Workspace.ts"
import { auditLog } from "./auditLog.ts"
import { hostedBy } from "./hosting.ts"
import type { Registration, Settings } from "./Settings.ts"
import type { WrongSettings } from "./Variable.ts"

/** Over a file of its own an installation is small and shares its machine, as `runtimes/bun/memorySettings.ts` has it too. */
export const cacheSizeOver = ({ file }: Store) => (file === undefined ? "large" : "small")

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

/** On one's own machine another port is no other server: the workspace goes along. */
export const movesByItself: MayMove = (from, { issuer }) =>
  isOnLoopback(from) && isOnLoopback(issuer) && "server itself"

const server = (settings: Settings, mayMove: MayMove) =>
  Layer.unwrap(
    Effect.map(Accounts, (accounts) =>
      Tessera.layer({
        policy: settings.policy,
        mayMove,
        endpoints: [
          ...signInEndpoints(accounts),
          ...accountSettingsEndpoints(accounts),
          ...settingsEndpoints(),
          ...endpoints
        ]
      })
    )
  )

/** The audit, and what metrics and traces put around the storage. */
export interface Onlookers {
  readonly audit: Layer.Layer<Audit, WrongSettings>
  readonly storage?: (below: Storage["Service"]) => Storage["Service"]
}

const storageOf = (settings: Settings, { storage: around }: Onlookers) => {
  const opened = settings.database.open(settings.storage)
  return around === undefined
    ? opened
    : Layer.effect(Storage, Effect.map(Storage, around)).pipe(Layer.provideMerge(opened))
}

/** The authorization server as these settings want it, with its storage open and its own accounts. */
export const application = (
  settings: Settings,
  ring: KeyRing,
  onlookers: Onlookers = { audit: auditLog },
  mayMove = movesByItself
) =>
  server(settings, mayMove).pipe(
    Layer.provideMerge(limitsOf(settings.rateLimits)),
    Layer.provide(resourceOwnerLayer),
    Layer.provideMerge(Accounts.layer({ throttled: settings.rateLimits !== false })),
    Layer.provideMerge(hostedBy(settings)),
    Layer.provideMerge(storageOf(settings, onlookers)),
    Layer.provide(passwordHasher),
    Layer.provide(Layer.provideMerge(fetchedKeys.layer, documents.layer(settings.fetch))),
    Layer.provide([
      Layer.succeed(CacheSize, cacheSizeOver(settings.database)),
      Entropy.layer,
      Keys.layer(ring),
      signatures,
      onlookers.audit,
      RegistrationPolicy.withDocuments(registrationPolicy(settings.registration), settings.clientDocuments),
      Pages.layer()
    ])
  )
