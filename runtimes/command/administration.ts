import { type Stats, statSync } from "node:fs"
import { Effect, References, Schema } from "effect"
import { note, type OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import type { Services } from "../../core/http/Route.ts"
import { Accounts } from "../../core/people/Accounts.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import { Tessera } from "../../core/Tessera.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import type { AuditTarget } from "../observe/ObserveSettings.ts"
import { application } from "../server/application.ts"
import { auditOf } from "../server/auditLog.ts"
import { findSealKeys } from "../server/SealKeyFile.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { type CommandFailed, explain, misused, type Trouble } from "./output.ts"

/** Whether there is anything at a path can't be said. */
export class Unseen extends Schema.TaggedError<Unseen>()("Unseen", { message: Schema.String }) {}

/** What is at a path; `undefined` where nothing is. */
export const lookAt = (path: string): Effect.Effect<Stats | undefined, Unseen> =>
  Effect.try({
    try: () => statSync(path, { throwIfNoEntry: false }),
    catch: (thrown) =>
      new Unseen({
        message: `${path} can't be looked at: ${thrown instanceof Error ? thrown.message : String(thrown)}`
      })
  })

/** What commands look after: the same store as the server's, whether that runs or not. */
export interface Administration {
  readonly settings: Settings
  readonly workspace: Workspace
  readonly services: Services
  readonly accounts: Accounts["Service"]
  readonly auditContext: OwnerAuditContext
  readonly note: (event: AuditEvent) => Effect.Effect<void>
}

export const by = "command line"

const open = Effect.fnUntraced(function* (settings: Settings) {
  const { services } = yield* Tessera
  const { workspace } = settings
  const auditContext: OwnerAuditContext = { workspace: workspace.id, by, requestId: by }
  const administration: Administration = {
    settings,
    workspace,
    services,
    accounts: yield* Accounts,
    auditContext,
    note: (event) => note(services.audit, auditContext, event)
  }
  return administration
})

/** What a command prints is for whoever asked, so its audit events go beside that. */
const besideAnswers = (target: AuditTarget): AuditTarget =>
  target._tag === "Stream" ? { _tag: "Stream", file: 2 } : target

/** Runs a command over the store that the settings name. */
export const administer = <A>(
  command: (administration: Administration) => Effect.Effect<A, Trouble>
): Effect.Effect<A, CommandFailed> =>
  Effect.gen(function* () {
    const settings = yield* readSettings
    if (!settings.database.kind.lasts) {
      return yield* misused("DATABASE_URL is memory:, and no other process can see into the server's memory.")
    }
    const keys = yield* findSealKeys(settings)
    const audit = auditOf(besideAnswers(settings.observe.audit))
    return yield* Effect.flatMap(open(settings), command).pipe(
      Effect.provide(application(settings, keys.ring, { audit }))
    )
  }).pipe(
    Effect.mapError(explain),
    // What succeeds is told by the command itself.
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
