import { Effect, Layer, Logger, ManagedRuntime, References } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { noble } from "../../adapters/password/noble.ts"
import { layerOf } from "../../adapters/password/Password.ts"
import { endpoints } from "../../core/oauth/endpoints/table.ts"
import { Accounts } from "../../core/people/Accounts.ts"
import { resourceOwnerLayer } from "../../core/people/resourceOwner.ts"
import { signInEndpoints } from "../../core/people/signInEndpoints.ts"
import { Audit } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { accountSettingsEndpoints } from "../../core/settings/accountSettingsEndpoints.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Tessera } from "../../core/Tessera.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { Keys, sealKey } from "../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"

export const issuer = "http://127.0.0.1:3000"

/** Argon2id as cheap as it gets. */
const cheap = { memory: 8, passes: 1, lanes: 1 } as const

const wired = Layer.unwrap(
  Effect.map(Accounts, (accounts) =>
    Tessera.layer({
      policy: { ...standardPolicy, workspaceAccess: "registered" },
      endpoints: [
        ...signInEndpoints(accounts),
        ...accountSettingsEndpoints(accounts),
        ...settingsEndpoints(),
        ...endpoints
      ]
    })
  )
)

/** All that the server binary wires up, in this process and in memory, without limits and with its log in hand. */
/** `workspaces`: where there is more than one. */
export const wholeServer = (seed: string, workspaces?: ReadonlyArray<Workspace>) => {
  const log: Array<string> = []
  const draw = drawFrom(seed)
  const entropy = Layer.succeed(Entropy, {
    bytes: (length: number) => Uint8Array.from({ length }, () => draw.below(256))
  })
  const ground = Layer.mergeAll(
    Memory.layer,
    Keys.layer([sealKey(new Uint8Array(32).fill(7))]),
    Layer.succeed(Audit, { record: () => Effect.void }),
    Limiter.layerNone,
    layerOf(noble, cheap),
    RegistrationPolicy.layerOpen,
    Pages.layer(),
    workspaces === undefined
      ? Workspaces.layerOne({ id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Home" })
      : Workspaces.layerByHost(workspaces)
  )
  const logger = Logger.make((entry) => {
    log.push(`${JSON.stringify(entry.message)} ${String(entry.cause)}`)
  })
  const runtime = ManagedRuntime.make(
    wired.pipe(
      Layer.provide(resourceOwnerLayer),
      Layer.provideMerge(Accounts.layer({ throttled: false })),
      Layer.provideMerge(ground),
      Layer.provideMerge(entropy),
      Layer.provideMerge(Logger.layer([logger])),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
  )
  return { runtime, log, services: Effect.all({ tessera: Tessera, accounts: Accounts, storage: Storage }) }
}
