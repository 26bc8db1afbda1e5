import { Duration, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createKey, revokeKey, rotateKey } from "../../core/engine/administration.ts"
import { collectAll, findMarked } from "../../core/engine/lists.ts"
import type { NewKey } from "../../core/grant/apiKey.ts"
import type { Key } from "../../core/grant/Grant.ts"
import { grantMark } from "../../core/rules/Id.ts"
import { currentInstant, hasPassed } from "../../core/rules/Instant.ts"
import { type Administration, administer } from "./administration.ts"
import { json, notFound, print, table, timeText } from "./output.ts"

const keysOf = ({ parts, workspace }: Administration) =>
  Effect.map(
    collectAll((page) => parts.grants.keys(workspace.id, page)),
    (grants) => grants.filter((grant): grant is Key => grant._tag === "Key")
  )

const noSuchKey = notFound("There is no such key.")

const described = (key: Key, usedAt: number | null) => ({
  id: grantMark(key.id),
  name: key.name,
  prefix: key.hint,
  created_at: timeText(key.createdAt),
  expires_at: key.expiresAt === null ? null : timeText(key.expiresAt),
  last_used_at: usedAt === null ? null : timeText(usedAt)
})

const printOnce = (asJson: boolean, { grant, text }: NewKey) =>
  print(asJson, { ...described(grant, null), key: Redacted.value(text) }, [
    Redacted.value(text),
    "",
    "The key is shown this once. It may do all that the API allows."
  ])

/** By the mark that a list shows. */
const find = ({ parts, workspace }: Administration, id: string) =>
  Effect.filterOrElse(
    findMarked((page) => parts.grants.keys(workspace.id, page), id),
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
    json
  },
  (given) =>
    administer(({ auditContext, parts }) =>
      Effect.gen(function* () {
        const lasts = Option.getOrUndefined(Option.map(given.expires, Duration.toMillis))
        yield* printOnce(given.json, yield* createKey(parts, auditContext, { name: given.name, lasts }))
      })
    )
).pipe(
  Command.withDescription("Make an API key"),
  Command.withExamples([{ command: 'tessera key create --name "Backup script" --expires "90 days"' }])
)

const list = Command.make("list", { json }, (given) =>
  administer((administration) =>
    Effect.gen(function* () {
      const { parts, workspace } = administration
      const now = yield* currentInstant
      const keys = (yield* keysOf(administration)).filter(
        (key) => key.expiresAt === null || !hasPassed(key.expiresAt, now)
      )
      const shown = yield* Effect.forEach(keys, (key) =>
        Effect.map(parts.usage.lastUse("grant", workspace.id, key.id), (at) => described(key, Option.getOrNull(at)))
      )
      yield* print(
        given.json,
        shown,
        table(
          ["ID", "NAME", "KEY", "CREATED", "EXPIRES", "LAST USED"],
          shown.map((key) => [
            key.id,
            key.name,
            `${key.prefix}…`,
            key.created_at,
            key.expires_at ?? "never",
            key.last_used_at ?? "-"
          ])
        )
      )
    })
  )
).pipe(Command.withDescription("List the API keys"))

const id = Argument.String("id").pipe(Argument.withDescription("The id that `tessera key list` shows"))

const rotate = Command.make("rotate", { id, json }, (given) =>
  administer((administration) =>
    Effect.gen(function* () {
      const { auditContext, parts } = administration
      const made = yield* rotateKey(parts, auditContext, yield* find(administration, given.id))
      yield* made === undefined ? noSuchKey : printOnce(given.json, made)
    })
  )
).pipe(
  Command.withDescription("Make a key of the same name that lasts as long, and revoke the old one"),
  Command.withExamples([{ command: "tessera key rotate 3hGTh17j" }])
)

const revoke = Command.make("revoke", { id, json }, (given) =>
  administer((administration) =>
    Effect.gen(function* () {
      const { auditContext, parts } = administration
      const key = yield* find(administration, given.id)
      if ((yield* revokeKey(parts, auditContext, key.id)) !== "revoked") return yield* noSuchKey
      yield* print(given.json, { id: given.id, revoked: true }, [`${key.name} (${key.hint}…) is revoked.`])
    })
  )
).pipe(Command.withDescription("Revoke an API key, at once"))

export const key = Command.make("key").pipe(
  Command.withDescription("Look after the workspace's API keys"),
  Command.withSubcommands([create, list, rotate, revoke])
)
