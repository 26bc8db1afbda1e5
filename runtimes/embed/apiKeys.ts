import { Duration, Effect, Option, Redacted } from "effect"
import { createKey, revokeKey, rotateKey } from "../../core/engine/administerGrants.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "../../core/engine/lists.ts"
import { BadKeyTerms, type KeyTerms, keyNameLength, type NewKey } from "../../core/grant/apiKey.ts"
import type { Grant, Key, KeyUse } from "../../core/grant/Grant.ts"
import { grantMark } from "../../core/rules/Id.ts"
import { currentInstant, hasPassed } from "../../core/rules/Instant.ts"
import { servicesAt } from "../../core/workspace/Workspace.ts"
import type { NamesOf } from "../serve/options.ts"
import { type Administration, namesKnown, type PageOf, type Paging, pageAsked } from "./Administration.ts"
import { badArgument } from "./Options.ts"

/** An API key, without the key. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The key's first characters, by which its owner knows it again. */
  readonly prefix: string
  /** What it opens: everything, its scopes alone, or introspection and nothing else. */
  readonly use: KeyUse
  readonly scopes: ReadonlyArray<string>
  readonly createdAt: Date
  /** `undefined`: never. */
  readonly expiresAt: Date | undefined
  readonly lastUsedAt: Date | undefined
}

export interface NewApiKey extends ApiKey {
  /** Shown this once: only its hash is kept. */
  readonly key: string
}

export interface ApiKeysApi {
  /**
   * `name`: what it is for, up to 100 characters. `expiresIn`: milliseconds, or words such as `"90 days"`; never where
   * it is left out. `scopes`: all that it opens. `introspectOnly`: it opens introspection and nothing else, as a resource
   * server's does. Without either it opens everything. Rejects with `BadOption` where one of them cannot be.
   */
  readonly create: (asked: {
    readonly name: string
    readonly expiresIn?: Duration.Input
    readonly scopes?: ReadonlyArray<string>
    readonly introspectOnly?: boolean
  }) => Promise<NewApiKey>
  /** Those that have not expired. */
  readonly list: (paging?: Paging) => Promise<PageOf<ApiKey>>
  /** A new one of the same name and reach that lasts as long, and the end of the old one. `undefined`: there is no such key. */
  readonly rotate: (id: string) => Promise<NewApiKey | undefined>
  /** At once. `false`: there is no such key. */
  readonly revoke: (id: string) => Promise<boolean>
}

type KeyOptions = Parameters<ApiKeysApi["create"]>[0]

const keyNames: NamesOf<KeyOptions> = { name: true, expiresIn: true, scopes: true, introspectOnly: true }

const readName = (name: unknown) =>
  typeof name === "string" ? Effect.succeed(name) : new BadKeyTerms({ reason: "no_name" })

const readLifetime = (given: Duration.Input | undefined) =>
  given === undefined
    ? Effect.succeed(undefined)
    : Option.match(Duration.fromInput(given), {
        onNone: () => new BadKeyTerms({ reason: "lifetime" }),
        onSome: (lifetime) => Effect.succeed(Duration.toMillis(lifetime))
      })

const isText = (value: unknown): value is string => typeof value === "string"

const readOpens = (
  scopes: unknown,
  introspectOnly: unknown
): Effect.Effect<NonNullable<KeyTerms["opens"]>, BadKeyTerms> => {
  const bad = new BadKeyTerms({ reason: "scopes" })
  if (introspectOnly === true) return scopes === undefined ? Effect.succeed("introspection") : Effect.fail(bad)
  if (introspectOnly !== undefined && introspectOnly !== false) return Effect.fail(bad)
  if (scopes === undefined) return Effect.succeed("everything")
  return Array.isArray(scopes) && scopes.every(isText) ? Effect.succeed(scopes) : Effect.fail(bad)
}

const explain = ({ reason }: BadKeyTerms) => {
  switch (reason) {
    case "lifetime":
      return badArgument(
        "apiKeys.create expiresIn",
        'has to be milliseconds, or words such as "90 days"; a hundred years at most'
      )
    case "scopes":
      return badArgument(
        "apiKeys.create scopes",
        "has to be a list of this server's scopes; introspectOnly: true stands in its place"
      )
    case "no_name":
    case "long_name":
      return badArgument("apiKeys.create name", `has to be 1 to ${keyNameLength} characters that people can read`)
  }
}

const told = (key: Key, lastUse: number | undefined): ApiKey => ({
  id: grantMark(key.id),
  name: key.name,
  prefix: key.hint,
  use: key.use,
  scopes: [...key.scope],
  createdAt: new Date(key.createdAt),
  expiresAt: key.expiresAt === null ? undefined : new Date(key.expiresAt),
  lastUsedAt: lastUse === undefined ? undefined : new Date(lastUse)
})

const shown = ({ grant, text }: NewKey): NewApiKey => ({ ...told(grant, undefined), key: Redacted.value(text) })

const isKey = (grant: Grant): grant is Key => grant._tag === "Key"

export const apiKeysApi = (administration: Administration): ApiKeysApi => {
  const { auditContext, services, run, steps, workspace } = administration
  const keys: GrantList = (page) => services.grants.keys(workspace.id, page)

  return {
    create: (asked) =>
      run(
        Effect.gen(function* () {
          // Without scopes a key opens everything, and without an end it stays.
          yield* namesKnown("apiKeys.create", asked, keyNames)
          const name = yield* readName(asked.name)
          const lasts = yield* readLifetime(asked.expiresIn)
          const opens = yield* readOpens(asked.scopes, asked.introspectOnly)
          const made = yield* createKey(servicesAt(services, workspace), auditContext, { name, lasts, opens })
          return shown(made)
        }).pipe(Effect.catchTag("BadKeyTerms", (bad) => Effect.fail(explain(bad))))
      ),
    list: (paging = {}) =>
      steps(function* () {
        const now = yield* currentInstant
        const { after, limit } = yield* pageAsked("apiKeys.list", paging)
        const page = yield* keys({ after: behindMark(after), limit })
        const live = page.values.filter(isKey).filter((key) => key.expiresAt === null || !hasPassed(key.expiresAt, now))
        const items = yield* Effect.forEach(live, (key) =>
          Effect.map(services.usage.lastUse("grant", workspace.id, key.id), (at) => told(key, at))
        )
        return { items, next: cursorOf(page.next) }
      }),
    rotate: (id) =>
      steps(function* () {
        const old = yield* findMarked(keys, id)
        const at = servicesAt(services, workspace)
        const made = old !== undefined && isKey(old) ? yield* rotateKey(at, auditContext, old) : undefined
        return made && shown(made)
      }),
    revoke: (id) =>
      steps(function* () {
        const grant = yield* findMarked(keys, id)
        return grant !== undefined && (yield* revokeKey(services, auditContext, grant.id)) === "revoked"
      })
  }
}
