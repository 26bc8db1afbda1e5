import { Duration, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createKey, revokeKey, rotateKey } from "../../core/engine/administerGrants.ts"
import { collectAll, findMarked } from "../../core/engine/lists.ts"
import type { NewKey } from "../../core/grant/apiKey.ts"
import type { Key } from "../../core/grant/Grant.ts"
import { grantMark } from "../../core/rules/Id.ts"
import { currentInstant, hasPassed } from "../../core/rules/Instant.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import { servicesAt } from "../../core/workspace/Workspace.ts"
import { type Administration, administer, WorkspaceFlag } from "./administration.ts"
import { examples, json, misused, notFound, print, switchFlag, table, textFlag, timeText } from "./output.ts"

const apiKeysOf = ({ services, workspace }: Administration) =>
  Effect.map(
    collectAll((page) => services.grants.keys(workspace.id, page)),
    (grants) => grants.filter((grant): grant is Key => grant._tag === "Key")
  )

const noSuchKey = notFound("There is no such key.")

const described = (key: Key, usedAt: number | null) => ({
  id: grantMark(key.id),
  name: key.name,
  prefix: key.hint,
  created_at: timeText(key.createdAt),
  opens: key.use === "scopes" ? key.scope.join(" ") : key.use,
  expires_at: key.expiresAt === null ? null : timeText(key.expiresAt),
  last_used_at: usedAt === null ? null : timeText(usedAt)
})

const opened = {
  everything: () => "all of the API",
  scopes: (scopes: ReadonlyArray<string>) => `what takes no more than ${scopes.join(" ")}`,
  introspection: () => "introspection and nothing else"
} as const satisfies Record<Key["use"], (scopes: ReadonlyArray<string>) => string>

const printOnce = (asJson: boolean, { grant, text }: NewKey) =>
  print(asJson, { ...described(grant, null), key: Redacted.value(text) }, [
    Redacted.value(text),
    "",
    `The key is shown this once. It opens ${opened[grant.use](grant.scope)}.`
  ])

/** By the mark that a list shows. */
const find = ({ services, workspace }: Administration, id: string) =>
  Effect.filterOrElse(
    findMarked((page) => services.grants.keys(workspace.id, page), id),
    (grant): grant is Key => grant?._tag === "Key",
    () => noSuchKey
  )

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("What it is for")),
    expires: Flag.String("expires").pipe(
      Flag.withDescription('After how long it ends, such as "90 days"; never where this is left out'),
      Flag.withSchema(Schema.DurationFromString),
      Flag.optional
    ),
    scope: textFlag("scope", 'The scopes that it opens, such as "api profile"; everything where this is left out'),
    introspectOnly: switchFlag("introspect-only", "Open introspection and nothing else: the key of a resource server"),
    json
  },
  (given) =>
    administer(function* ({ auditContext, services, workspace }) {
      const scope = Option.getOrUndefined(given.scope)
      if (given.introspectOnly && scope !== undefined) {
        return yield* misused("A key for introspection alone has no scopes: leave out --scope or --introspect-only.")
      }
      const chosen = scope === undefined ? "everything" : namesIn(scope)
      const opens = given.introspectOnly ? "introspection" : chosen
      const lasts = Option.getOrUndefined(Option.map(given.expires, Duration.toMillis))
      yield* printOnce(
        given.json,
        yield* createKey(servicesAt(services, workspace), auditContext, { name: given.name, lasts, opens })
      )
    })
).pipe(
  Command.withDescription("Make an API key"),
  examples(
    'tessera key create --name "Backup script" --scope api --expires "90 days"',
    'tessera key create --name "Billing API" --introspect-only'
  )
)

const list = Command.make("list", { json }, (given) =>
  administer(function* (administration) {
    const { services, workspace } = administration
    const now = yield* currentInstant
    const keys = (yield* apiKeysOf(administration)).filter(
      (key) => key.expiresAt === null || !hasPassed(key.expiresAt, now)
    )
    const shown = yield* Effect.forEach(keys, (key) =>
      Effect.map(services.usage.lastUse("grant", workspace.id, key.id), (at) => described(key, at ?? null))
    )
    yield* print(
      given.json,
      shown,
      table(
        ["ID", "NAME", "KEY", "CREATED", "EXPIRES", "LAST USED", "OPENS"],
        shown.map((key) => [
          key.id,
          key.name,
          `${key.prefix}…`,
          key.created_at,
          key.expires_at ?? "never",
          key.last_used_at ?? "-",
          key.opens
        ])
      )
    )
  })
).pipe(Command.withDescription("List the API keys"))

const id = Argument.String("id").pipe(Argument.withDescription("The id that `tessera key list` shows"))

const rotate = Command.make("rotate", { id, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services, workspace } = administration
    const old = yield* find(administration, given.id)
    const made = yield* rotateKey(servicesAt(services, workspace), auditContext, old)
    yield* made === undefined ? noSuchKey : printOnce(given.json, made)
  })
).pipe(
  Command.withDescription("Make a key of the same name and reach that lasts as long, and revoke the old one"),
  examples("tessera key rotate 3hGTh17j")
)

const revoke = Command.make("revoke", { id, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services } = administration
    const key = yield* find(administration, given.id)
    if ((yield* revokeKey(services, auditContext, key.id)) !== "revoked") return yield* noSuchKey
    yield* print(given.json, { id: given.id, revoked: true }, [`${key.name} (${key.hint}…) is revoked.`])
  })
).pipe(Command.withDescription("Revoke an API key, at once"))

export const key = Command.make("key").pipe(
  Command.withDescription("Look after the workspace's API keys"),
  Command.withSubcommands([create, list, rotate, revoke]),
  Command.withGlobalFlags([WorkspaceFlag])
)
