import { Effect, Option, Result, Schema } from "effect"
import { Client } from "../client/Client.ts"
import { Grant, ownerOf, recordExpiry } from "../grant/Grant.ts"
import {
  type Conflict,
  type Json,
  type Kind,
  type Slice,
  type Storage,
  StorageUnavailable,
  type StoredRecord
} from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** A record as the core reads it. */
export interface Kept<A> {
  readonly value: A
  readonly version: number
  /** Which write made this version, so that a write whose answer was lost is recognised. */
  readonly command: string
}

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
const upcast = <A>(kind: RecordKind<A>, { _v, _by, ...fields }: Fields, version: number): Fields =>
  kind.upcast.slice(version - 1).reduce<Fields>((older, up) => up(older), fields)

/** Reads a body of this release or of an earlier one. What a later release wrote is refused, never guessed at. */
export const decodeBody = <A>(
  kind: RecordKind<A>
): ((body: Json) => Result.Result<{ value: A; command: string }, string>) => {
  const decode = Schema.decodeUnknownResult(kind.schema)
  return (body) => {
    if (!isObject(body)) return Result.fail("is not an object")
    const { _v: version, _by: command } = body
    if (typeof version !== "number" || typeof command !== "string") return Result.fail("has no version")
    if (version > kind.version) return Result.fail(`has version ${version}; this release reads up to ${kind.version}`)
    // Schemas pass over what they don't name, such as these two.
    const value = decode(version === kind.version ? body : upcast(kind, body, version))
    return Result.isSuccess(value)
      ? Result.succeed({ value: value.success, command })
      : Result.fail(`does not fit version ${version}`)
  }
}

/**
 * What a body says, on the body itself. Bodies are immutable, so one that a store gives back as the very object it was
 * given need not be read again. No JSON shows it.
 */
const read = Symbol("tessera/core/server/Records/read")

interface Written<A> {
  readonly [read]?: Kept<A>
}

const writtenIn = <A>(body: Json): Kept<A> | undefined =>
  // Only `recordsOf` puts the symbol there, and a record never changes its kind.
  typeof body === "object" && body !== null ? (body as Written<A>)[read] : undefined

const keptIn = <A>(record: StoredRecord): Kept<A> | undefined => {
  // Only `recordsOf` makes something of a reading. Its body is not looked at: it may be parsed only then.
  const kept = record.reading === undefined ? writtenIn<A>(record.body) : (record.reading.made as Kept<A> | undefined)
  return kept?.version === record.version ? kept : undefined
}

const nothing = Effect.succeed(undefined)

/** The view of a kind over a store. */
export const recordsOf = <A>(storage: Storage["Service"], kind: RecordKind<A>): Records<A> => {
  const decode = decodeBody(kind)
  const readRecord = (record: StoredRecord): Result.Result<Kept<A>, StorageUnavailable> => {
    const decoded = decode(record.body)
    if (Result.isFailure(decoded)) {
      const message = `a ${kind.kind} record ${decoded.failure}`
      return Result.fail(new StorageUnavailable({ outcome: "not_done", message }))
    }
    const kept: Kept<A> = { ...decoded.success, version: record.version }
    if (record.reading !== undefined) record.reading.made = kept
    return Result.succeed(kept)
  }

  /** `version`: that which the record has once it is written. */
  const write = (workspace: WorkspaceId, version: number, value: A, command: string) => {
    const kept: Kept<A> = { value, version, command }
    const body = encodeBody(kind, value, command)
    // Not enumerable: JavaScriptCore writes an object with an enumerable symbol as JSON by a way that takes thrice as long.
    Object.defineProperty(body, read, { value: kept })
    return {
      workspace,
      kind: kind.kind,
      id: kind.id(value),
      owner: kind.owner(value),
      expiresAt: kind.expiresAt(value),
      body
    }
  }

  return {
    get: (workspace, id) =>
      Effect.flatMapEager(storage.get({ workspace, kind: kind.kind, id }), (found) => {
        if (Option.isNone(found)) return nothing
        const kept = keptIn<A>(found.value)
        if (kept !== undefined) return Effect.succeed(kept)
        const read = readRecord(found.value)
        return Result.isSuccess(read) ? Effect.succeed(read.success) : Effect.fail(read.failure)
      }),
    insert: (workspace, value, command) => storage.insert(write(workspace, 1, value, command)),
    replace: (workspace, expected, value, command) =>
      storage.replace(expected, write(workspace, expected + 1, value, command)),
    remove: (workspace, id) => storage.remove({ workspace, kind: kind.kind, id }),
    list: (workspace, owner, slice) =>
      Effect.flatMap(storage.list({ workspace, kind: kind.kind, owner, ...slice }), (found) => {
        const values: Array<A> = []
        for (const record of found.records) {
          const kept = keptIn<A>(record)
          const read = kept === undefined ? readRecord(record) : Result.succeed(kept)
          if (Result.isFailure(read)) return Effect.fail(read.failure)
          values.push(read.success.value)
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
  expiresAt: (client) => client.expiresAt
}

export const grantKind = (policy: Policy): RecordKind<Grant> => ({
  kind: "grant",
  schema: Grant,
  version: 1,
  upcast: [],
  id: (grant) => grant.id,
  owner: ownerOf,
  expiresAt: (grant) => recordExpiry(grant, policy.accessTtl)
})
