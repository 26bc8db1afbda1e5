import { Context, type Effect, type Option, Schema } from "effect"

/** A row for each kind of record. A store knows no more of a kind; `table` is its name where each kind has a table. */
export const recordKinds = {
  client: { table: "clients" },
  grant: { table: "grants" },
  usage: { table: "usages" },
  account: { table: "accounts" },
  login: { table: "logins" },
  session: { table: "sessions" },
  link: { table: "links" },
  limit: { table: "limits" },
  request: { table: "requests" },
  once: { table: "onces" },
  workspace: { table: "workspaces" },
  signing: { table: "signings" },
  logout: { table: "logouts" }
} as const satisfies { readonly [kind: string]: { readonly table: string } }
export type Kind = keyof typeof recordKinds

/** Makes something for each kind of record. */
export const forEachKind = <A>(make: (kind: Kind) => A): { readonly [kind in Kind]: A } =>
  // `kinds` holds every key of the table, which is what `Kind` is made of.
  Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as { readonly [kind in Kind]: A }

// The table is a literal without further keys.
export const kinds = Object.keys(recordKinds) as ReadonlyArray<Kind>

/** A JSON value: what every store can hold and give back unchanged. Treat one as immutable. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

export interface RecordKey {
  readonly workspace: string
  readonly kind: Kind
  readonly id: string
}

export interface NewRecord extends RecordKey {
  /** Whose list the record stands in. It never changes. */
  readonly owner: string
  /** Milliseconds since 1970; from then on `sweep` may remove the record. `null`: never. */
  readonly expiresAt: number | null
  /** Opaque: no store looks into it. */
  readonly body: Json
}

export interface StoredRecord extends NewRecord {
  /** 1 when inserted, one more with every replace. */
  readonly version: number
}

/** Which part of a list is asked for. */
export interface Slice {
  /** The last id of the page before; `undefined` starts at the first. */
  readonly after: string | undefined
  readonly limit: number
}

export interface Listing extends Slice {
  readonly workspace: string
  readonly kind: Kind
  readonly owner: string
}

export interface Page {
  /** In the order of their ids (by code unit), at most `limit`. */
  readonly records: ReadonlyArray<StoredRecord>
  /** What to pass as `after` for the page that follows; `undefined` when there is none. */
  readonly next: string | undefined
}

/** The id is taken (insert), or the record is not at the expected version any more, or gone (replace). Nothing was written. */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", {}) {}

/** The id of a record that was to be inserted is taken, and what was to be replaced with it was not. */
export class Taken extends Schema.TaggedError<Taken>()("Taken", { id: Schema.String }) {}

/**
 * The store did not answer. `unknown`: a write may or may not have happened, or may yet happen.
 * `message` is for operators: it never holds a record's body.
 */
export class StorageUnavailable extends Schema.TaggedError<StorageUnavailable>()("StorageUnavailable", {
  outcome: Schema.Literals(["not_done", "unknown"]),
  message: Schema.String,
  /** It was no store, but what a host keeps of its people. */
  of: Schema.optionalKey(Schema.Literal("host"))
}) {}

/** Writes to records of a kind that were there already: replaced, removed or swept. It goes on while it is looked at. */
export interface Written {
  /** Of all since it was asked for first. */
  readonly count: number
  /** The last of them, at least `writtenKept` where there were as many; the youngest comes last. */
  readonly last: ReadonlyArray<Pick<RecordKey, "workspace" | "id">>
}

export const writtenKept = 64

export type InsertAndReplace = (
  added: ReadonlyArray<NewRecord>,
  expected: number,
  record: NewRecord
) => Effect.Effect<void, Taken | Conflict | StorageUnavailable>

/**
 * Where records live. `insert` and `replace` are atomic across everything that shares the store, and what they
 * acknowledged is there for the next `get`. No verb looks at a clock of its own: a record that has expired is still
 * given back until `sweep` is called with a later time, and the core decides what expiry means.
 */
export class Storage extends Context.Service<
  Storage,
  {
    readonly get: (key: RecordKey) => Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
    readonly insert: (record: NewRecord) => Effect.Effect<void, Conflict | StorageUnavailable>
    /** Writes `body` and `expiresAt` if the stored version is still `expected`. `owner` is the stored one's. */
    readonly replace: (expected: number, record: NewRecord) => Effect.Effect<void, Conflict | StorageUnavailable>
    /**
     * `insert` for each of `added`, then, where all of their ids were free, `replace`: in one round trip. `Taken`: one
     * was not, and others of them may have been inserted. `Conflict`: all were inserted. They are at least one, and of one
     * kind. Only of a store where it is quicker than one verb after the other, which is the default.
     */
    readonly insertAndReplace?: InsertAndReplace | undefined
    /** Removing what is not there is no error. */
    readonly remove: (key: RecordKey) => Effect.Effect<void, StorageUnavailable>
    readonly list: (listing: Listing) => Effect.Effect<Page, StorageUnavailable>
    /** Removes records of every workspace with `expiresAt <= before`, at most `limit`; answers how many. */
    readonly sweep: (before: number, limit: number) => Effect.Effect<number, StorageUnavailable>
    /**
     * Only of a store that no other process can write: a cache of records of a kind sees here which to forget, and
     * asks for none. Default: others may have written, and the store is asked.
     */
    readonly written?: (kind: Kind) => Written
  }
>()("tessera/core/ports/Storage") {}

/** What a whole store holds, for copying and for backups. Never on a request's path. */
export class StorageScan extends Context.Service<
  StorageScan,
  {
    /** Every record of a kind, over all workspaces, page by page; a record that is written meanwhile may come or not. */
    readonly scan: (
      kind: Kind,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<
      { readonly records: ReadonlyArray<StoredRecord>; readonly next: string | undefined },
      StorageUnavailable
    >
  }
>()("tessera/core/ports/StorageScan") {}
