import { Duration, Effect, Option, Redacted } from "effect"
import type { Grant, Key } from "../../core/grant/Grant.ts"
import { grantMark } from "../../core/ports/Audit.ts"
import { currentInstant, hasPassed, later } from "../../core/rules/Instant.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "../../core/settings/Mark.ts"
import { type Administration, by, limitOf, note, type PageOf, type Paging } from "./Administration.ts"
import { badOption } from "./BadOption.ts"

/** An API key, without the key. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The key's first characters, by which its owner knows it again. */
  readonly prefix: string
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
   * it is left out. Rejects with `BadOption` where one of them cannot be.
   */
  readonly create: (asked: { readonly name: string; readonly expiresIn?: Duration.Input }) => Promise<NewApiKey>
  /** Those that have not expired. */
  readonly list: (paging?: Paging) => Promise<PageOf<ApiKey>>
  /** At once. `false`: there is no such key. */
  readonly revoke: (id: string) => Promise<boolean>
}

const readName = (name: unknown) =>
  typeof name === "string" && /^(?!\s*$)[^\p{Cc}]{1,100}$/u.test(name)
    ? Effect.succeed(name)
    : Effect.fail(badOption("apiKeys.create name", "has to be 1 to 100 characters that people can read"))

const readLifetime = (given: Duration.Input | undefined) => {
  if (given === undefined) return Effect.succeed(undefined)
  const millis = Option.getOrUndefined(Option.map(Duration.fromInput(given), Duration.toMillis))
  return millis !== undefined && Number.isFinite(millis) && millis >= 1
    ? Effect.succeed(Math.floor(millis))
    : Effect.fail(badOption("apiKeys.create expiresIn", 'has to be milliseconds, or words such as "90 days"'))
}

const told = (key: Key, lastUse: number | undefined): ApiKey => ({
  id: grantMark(key.id),
  name: key.name,
  prefix: key.hint,
  createdAt: new Date(key.createdAt),
  expiresAt: key.expiresAt === null ? undefined : new Date(key.expiresAt),
  lastUsedAt: lastUse === undefined ? undefined : new Date(lastUse)
})

const isKey = (grant: Grant): grant is Key => grant._tag === "Key"

export const apiKeysApi = (administration: Administration): ApiKeysApi => {
  const { parts, run, workspace } = administration
  const keys: GrantList = (page) => parts.grants.keys(workspace.id, page)

  return {
    create: (asked) =>
      run(
        Effect.gen(function* () {
          const name = yield* readName(asked.name)
          const lifetime = yield* readLifetime(asked.expiresIn)
          const now = yield* currentInstant
          const expiresAt = lifetime === undefined ? null : later(now, lifetime)
          const made = yield* parts.grants.createKey(workspace.id, { name, expiresAt })
          yield* note(administration, { _tag: "KeyCreated", grant: grantMark(made.grant.id), by })
          return { ...told(made.grant, undefined), key: Redacted.value(made.text) }
        })
      ),
    list: (paging = {}) =>
      run(
        Effect.gen(function* () {
          const now = yield* currentInstant
          const page = yield* keys({ after: behindMark(paging.after), limit: limitOf(paging) })
          const live = page.values
            .filter(isKey)
            .filter((key) => key.expiresAt === null || !hasPassed(key.expiresAt, now))
          const items = yield* Effect.forEach(live, (key) =>
            Effect.map(parts.usage.lastUse("grant", workspace.id, key.id), (at) => told(key, Option.getOrUndefined(at)))
          )
          return { items, next: cursorOf(page.next) }
        })
      ),
    revoke: (id) =>
      run(
        Effect.gen(function* () {
          const grant = yield* findMarked(keys, id)
          if (grant === undefined) return false
          const outcome = yield* parts.grants.revokeGrant(workspace.id, grant.id, "by_owner")
          if (outcome === "revoked") yield* note(administration, { _tag: "KeyRevoked", grant: grantMark(grant.id), by })
          return outcome === "revoked"
        })
      )
  }
}
