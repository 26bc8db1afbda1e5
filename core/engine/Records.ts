import { Effect, Option, Result, Schema } from "effect"
import { Client, sweptAt } from "../client/Client.ts"
import { Grant, ownerOf, recordExpiry } from "../grant/Grant.ts"
import {
  type Conflict,
  type Json,
  type Kind,
  type NewRecord,
  type Slice,
  type Storage,
  StorageUnavailable,
  type StoredRecord,
  type Taken
} from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Kept, RecordCache } from "./caches.ts"

/** One kind of record: how its values become stored bodies, and how bodies of earlier releases are still read. */
export interface RecordKind<A> {
  readonly kind: Kind
  readonly schema: Schema.Codec<A, unknown>
  /** Grows by one with every change that an older release could not read. */
  readonly version: number
  /** `upcast[n]` makes a body of version n + 2 out of one of version n + 1. */
  readonly upcast: ReadonlyArray<(body: { readonly [key: string]: Json }) => { readonly [key: string]: Json }>
  readonly id: (value: A) => string
  readonly owner: (value: A) => string
  readonly expiresAt: (value: A) => Instant | null
}

export interface Listed<A> {
  readonly values: ReadonlyArray<A>
  readonly next: string | undefined
}

/** The typed view of one kind of record: the only code that knows what is in a body. */
export interface Records<A> {
  /** The records that were seen last, of a kind that requests read over and over. */
  readonly cache?: RecordCache<A> | undefined
  readonly get: (workspace: WorkspaceId, id: string) => Effect.Effect<Kept<A> | undefined, StorageUnavailable>
  readonly insert: (
    workspace: WorkspaceId,
    value: A,
    command: string
  ) => Effect.Effect<void, Conflict | StorageUnavailable>
  readonly replace: (
    workspace: WorkspaceId,
    expected: number,
    value: A,
    command: string
  ) => Effect.Effect<void, Conflict | StorageUnavailable>
  /** The same with records of another kind that are new; `undefined` where the store makes one step of no two verbs. */
  readonly replaceWith?: (
    added: ReadonlyArray<NewRecord>,
    workspace: WorkspaceId,
    expected: number,
    value: A,
    command: string
  ) => Effect.Effect<void, Taken | Conflict | StorageUnavailable> | undefined
  readonly remove: (workspace: WorkspaceId, id: string) => Effect.Effect<void, StorageUnavailable>
  readonly list: (workspace: WorkspaceId, owner: string, slice: Slice) => Effect.Effect<Listed<A>, StorageUnavailable>
}

type Fields = { readonly [key: string]: Json }

const isObject = (body: Json): body is Fields => typeof body === "object" && body !== null && !Array.isArray(body)

// Every value that is kept is made of JSON already: its brands are checks, not wrappers. A law decodes what is encoded so
// for each kind, over random values.
const fieldsOf = <A>(value: A) => value as Fields

/** The stored form: the value's own fields, with the version of their form (`_v`) and the write they came by (`_by`). */
export const encodeBody = <A>(kind: RecordKind<A>, value: A, command: string): Fields => ({
  ...fieldsOf(value),
  _v: kind.version,
  _by: command
})

/** What an earlier release wrote, as this one would have. */
export const upcast = <A>(
  kind: Pick<RecordKind<A>, "upcast">,
  { _v, _by, ...fields }: Fields,
  version: number
): Fields => kind.upcast.slice(version - 1).reduce<Fields>((older, up) => up(older), fields)

/** Whether only a later release can read it. */
export const isOfLaterRelease = <A>(kind: RecordKind<A>, body: Json): boolean =>
  isObject(body) && typeof body._v === "number" && body._v > kind.version

/** Reads a body of this release or of an earlier one. What a later release wrote is refused, never guessed at. */
export const decodeBody = <A>(
  kind: RecordKind<A>
): ((body: Json) => Result.Result<{ value: A; command: string }, string>) => {
  const decode = Schema.decodeUnknownResult(kind.schema)
  return (body) => {
    if (!isObject(body)) return Result.fail("is not an object")
    const { _v: version, _by: command } = body
    if (typeof version !== "number" || typeof command !== "string") return Result.fail("has no version")
    if (isOfLaterRelease(kind, body))
      return Result.fail(`has version ${version}; this release reads up to ${kind.version}`)
    // Schemas pass over what they don't name, such as these two.
    const value = decode(version === kind.version ? body : upcast(kind, body, version))
    return Result.isSuccess(value)
      ? Result.succeed({ value: value.success, command })
      : Result.fail(`does not fit version ${version}`)
  }
}

const recordOf = <A>(kind: RecordKind<A>, workspace: WorkspaceId, value: A, body: Fields): NewRecord => ({
  workspace,
  kind: kind.kind,
  id: kind.id(value),
  owner: kind.owner(value),
  expiresAt: kind.expiresAt(value),
  body
})

/** What an insert of this value writes. */
export const newRecord = <A>(kind: RecordKind<A>, workspace: WorkspaceId, value: A, command: string): NewRecord =>
  recordOf(kind, workspace, value, encodeBody(kind, value, command))

const nothing = Effect.succeed(undefined)

/** The view of a kind over a store, with a cache where requests read its records over and over. */
export const makeRecords = <A>(
  storage: Storage["Service"],
  kind: RecordKind<A>,
  cache?: RecordCache<A>
): Records<A> => {
  const decode = decodeBody(kind)
  const read = ({ body, version }: StoredRecord): Result.Result<Kept<A>, StorageUnavailable> => {
    const decoded = decode(body)
    if (Result.isSuccess(decoded)) return Result.succeed({ ...decoded.success, version })
    const message = `a ${kind.kind} record ${decoded.failure}`
    return Result.fail(new StorageUnavailable({ outcome: "not_done", message }))
  }

  /** `version`: the one that the write makes. */
  const remembering = <E>(
    write: Effect.Effect<void, E>,
    workspace: WorkspaceId,
    body: Fields,
    version: number,
    value: A,
    command: string
  ): Effect.Effect<void, E> =>
    cache === undefined
      ? write
      : Effect.mapEager(write, () => cache.wrote(workspace, kind.id(value), body, { value, version, command }))

  return {
    cache,
    get: (workspace, id) =>
      Effect.flatMapEager(storage.get({ workspace, kind: kind.kind, id }), (found) => {
        if (Option.isNone(found)) return nothing
        const { body, version } = found.value
        const known = cache?.decoded(id, body, version)
        if (known !== undefined) return Effect.succeed(known)
        const kept = read(found.value)
        if (Result.isFailure(kept)) return Effect.fail(kept.failure)
        cache?.read(workspace, id, body, kept.success)
        return Effect.succeed(kept.success)
      }),
    insert: (workspace, value, command) => {
      const body = encodeBody(kind, value, command)
      return remembering(storage.insert(recordOf(kind, workspace, value, body)), workspace, body, 1, value, command)
    },
    replace: (workspace, expected, value, command) => {
      const body = encodeBody(kind, value, command)
      const write = storage.replace(expected, recordOf(kind, workspace, value, body))
      return remembering(write, workspace, body, expected + 1, value, command)
    },
    replaceWith: (added, workspace, expected, value, command) => {
      const body = encodeBody(kind, value, command)
      const write = storage.insertAndReplace?.(added, expected, recordOf(kind, workspace, value, body))
      return write && remembering(write, workspace, body, expected + 1, value, command)
    },
    remove: (workspace, id) => {
      const removal = storage.remove({ workspace, kind: kind.kind, id })
      return cache === undefined
        ? removal
        : Effect.ensuring(
            removal,
            Effect.sync(() => cache.forget(workspace, id))
          )
    },
    list: (workspace, owner, slice) =>
      Effect.flatMap(storage.list({ workspace, kind: kind.kind, owner, ...slice }), (found) => {
        const values: Array<A> = []
        for (const record of found.records) {
          const kept = read(record)
          if (Result.isFailure(kept)) return Effect.fail(kept.failure)
          values.push(kept.success.value)
        }
        return Effect.succeed({ values, next: found.next })
      })
  }
}

/** Clients all stand in one list, the workspace's. */
export const clientOwner = "workspace"

export const clientKind: RecordKind<Client> = {
  kind: "client",
  schema: Client,
  version: 1,
  upcast: [],
  id: (client) => client.id,
  owner: () => clientOwner,
  expiresAt: sweptAt
}

/**
 * Version 1 kept neither the challenge of a code that was redeemed, nor who refreshed; its keys opened everything, and its
 * grants were for one resource at most.
 */
const grantOfVersion1 = ({ resource = null, ...rest }: Fields): Fields => {
  const body: Fields = { ...rest, resources: resource === null ? null : [resource] }
  const { refresh = null } = body
  if (body._tag === "Key") return { ...body, use: "everything" }
  return body._tag === "Active" && isObject(refresh)
    ? { ...body, challenge: null, refresh: { ...refresh, rotatedBy: null }, retriedElsewhereAt: null }
    : body
}

export const grantKind = (policy: Policy): RecordKind<Grant> => ({
  kind: "grant",
  schema: Grant,
  version: 2,
  upcast: [grantOfVersion1],
  id: (grant) => grant.id,
  owner: ownerOf,
  expiresAt: (grant) => recordExpiry(grant, policy.accessTtl)
})
