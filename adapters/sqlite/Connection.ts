export type SqlValue = string | number | null

export interface Statement {
  /** How many rows it changed. */
  readonly run: (...values: ReadonlyArray<SqlValue>) => number
  /** The first row as an object, `undefined` when there is none. */
  readonly get: (...values: ReadonlyArray<SqlValue>) => unknown
  readonly all: (...values: ReadonlyArray<SqlValue>) => ReadonlyArray<unknown>
}

/** As much of a SQLite driver as the store needs. All of it is synchronous, and throws what the driver throws. */
export interface Driver {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
  /** SQLite's own result code of what the driver threw; `undefined` when it is no answer of SQLite. */
  readonly resultCode: (thrown: unknown) => number | undefined
}

export interface Connection extends Driver {
  /** Throws where the file at the path is no longer this one. */
  readonly requireInPlace: () => void
}

export type Open = (path: string) => Driver
