import { type Stats, statSync } from "node:fs"
import { Effect, Option, References, Schema } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { note, type OwnerAuditContext } from "../../core/engine/AuditContext.ts"
import { neverMoves } from "../../core/engine/Openings.ts"
import type { Services } from "../../core/http/Route.ts"
import { Accounts } from "../../core/people/Accounts.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import { type Storage, StorageScan } from "../../core/ports/Storage.ts"
import { Tessera } from "../../core/Tessera.ts"
import { type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import type { AuditTarget } from "../observe/ObserveSettings.ts"
import { application } from "../server/application.ts"
import { auditOf } from "../server/auditLog.ts"
import { Hosted } from "../server/hosting.ts"
import { findSealKeys } from "../server/SealKeyFile.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { type CommandFailed, explain, failed, misused, notFound, type Trouble, unknownWorkspace } from "./output.ts"

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

/** Which of several workspaces a command is about. */
export const WorkspaceFlag = GlobalFlag.Setting("workspace")({
  flag: Flag.String("workspace").pipe(
    Flag.withDescription("The workspace, by its id, where WORKSPACES has several"),
    Flag.withSchema(WorkspaceId),
    Flag.optional
  )
})

/** What commands look after: the same store as the server's, whether that runs or not. */
export interface Administration {
  readonly settings: Settings
  readonly hosted: Hosted["Service"]
  readonly workspace: Workspace
  readonly services: Services
  readonly accounts: Accounts["Service"]
  readonly auditContext: OwnerAuditContext
  readonly scan: StorageScan["Service"] | undefined
  readonly note: (event: AuditEvent) => Effect.Effect<void>
}

/** How late a server that runs notices what a command changed. */
export const soon = ({ services }: Pick<Administration, "services">): string =>
  `A server that runs knows within ${services.policy.clientStaleness / 1000} seconds.`

/** The workspace as its record says: with the APIs that are listed and the issuers that are trusted by its owners. */
export const opened = ({ services, workspace }: Pick<Administration, "services" | "workspace">) =>
  services.openings.open(workspace)

export const by = "command line"

/** An operator names a workspace where there are several, so as not to act in one by mistake. */
const named = Effect.fnUntraced(function* (
  { hosting, workspace }: Settings,
  hosted: Hosted["Service"],
  asked: Option.Option<WorkspaceId>
) {
  if (Option.isSome(asked)) {
    return (yield* hosted.find(asked.value)) ?? (yield* notFound(unknownWorkspace))
  }
  if (hosting._tag === "One") return workspace
  return yield* misused(
    `There may be several workspaces here: name one with --workspace, as \`tessera workspace list\` has them. That of BASE_URL is ${workspace.id}.`
  )
})

const open = Effect.fnUntraced(function* (settings: Settings, workspace: Workspace) {
  const { services } = yield* Tessera
  const auditContext: OwnerAuditContext = { workspace: workspace.id, by, requestId: by }
  const administration: Administration = {
    settings,
    hosted: yield* Hosted,
    workspace,
    services,
    scan: Option.getOrUndefined(yield* Effect.serviceOption(StorageScan)),
    accounts: yield* Accounts,
    auditContext,
    note: (event) => note(services.audit, auditContext, event)
  }
  return administration
})

/** What a command prints is for its caller, so its audit events go beside that. */
const besideAnswers = (target: AuditTarget): AuditTarget =>
  target._tag === "Stream" ? { _tag: "Stream", file: 2 } : target

/** Tells of each write that was done. */
const watched = (below: Storage["Service"], wrote: () => void): Storage["Service"] => {
  const done = Effect.sync(wrote)
  return {
    ...below,
    insert: (record) => Effect.tap(below.insert(record), done),
    replace: (expected, record) => Effect.tap(below.replace(expected, record), done),
    // No command spends anything: without this verb, the two above are all there is.
    insertAndReplace: undefined,
    remove: (key) => Effect.tap(below.remove(key), done),
    sweep: (before, limit) => Effect.tap(below.sweep(before, limit), (removed) => (removed > 0 ? done : Effect.void))
  }
}

/** What a command does, as a generator of effects. */
type Steps<A> = (administration: Administration) => Generator<Effect.Effect<unknown, Trouble>, A, never>

/** Runs a command over the store that the settings name, about the workspace that is named. */
export const administer = <A>(command: Steps<A>) =>
  Effect.flatMap(WorkspaceFlag, (asked) => administering(command, (settings, hosted) => named(settings, hosted, asked)))

/** The same, for what is about all workspaces, or about that of `BASE_URL`. */
export const administerAll = <A>(command: Steps<A>) =>
  administering(command, ({ workspace }) => Effect.succeed(workspace))

const administering = <A>(
  command: Steps<A>,
  which: (settings: Settings, hosted: Hosted["Service"]) => Effect.Effect<Workspace, Trouble>
): Effect.Effect<A, CommandFailed> =>
  Effect.suspend(() => {
    let hasWritten = false
    const storage = (below: Storage["Service"]) =>
      watched(below, () => {
        hasWritten = true
      })
    return Effect.gen(function* () {
      const settings = yield* readSettings
      if (!settings.database.kind.lasts) {
        return yield* misused("DATABASE_URL is memory:, and no other process can see into the server's memory.")
      }
      const keys = yield* findSealKeys(settings)
      const audit = auditOf(besideAnswers(settings.observe.audit))
      return yield* Hosted.pipe(
        Effect.flatMap((hosted) => which(settings, hosted)),
        Effect.flatMap((workspace) => open(settings, workspace)),
        Effect.flatMap((administration) => {
          // What was written before the command began is none of its own.
          hasWritten = false
          return Effect.gen(() => command(administration))
        }),
        // The server at the other address may be one that runs.
        Effect.provide(application(settings, keys.ring, { audit, storage }, neverMoves))
      )
    }).pipe(
      Effect.mapError((trouble) =>
        trouble._tag === "OtherIssuer"
          ? failed(`Commands read BASE_URL and PORT as the server does: set them here too. For now, ${trouble.message}`)
          : explain(trouble, hasWritten)
      ),
      // What succeeds is told by the command itself.
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
  })
