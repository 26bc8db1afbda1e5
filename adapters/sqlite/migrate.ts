import { Result, Schema } from "effect"
import { DatabaseRefused, type Driver, rollback } from "./Connection.ts"

/** The file is of an older version, and whoever opened it did not want it changed. */
export class MigrationsPending extends Schema.TaggedError<MigrationsPending>()("MigrationsPending", {
  message: Schema.String
}) {}

/**
 * Bodies are too long for a table without rowids to stay shallow, so records lie in the order of their making and the
 * primary key is an index beside them. Ids, owners and workspaces are key text (`../KeyText.ts`), bodies are JSON.
 */
const recordTable = (name: string): string => `
  CREATE TABLE ${name} (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
  ) STRICT;
  CREATE INDEX ${name}_by_owner ON ${name} (workspace, owner, id);
  CREATE INDEX ${name}_by_expiry ON ${name} (expires_at) WHERE expires_at IS NOT NULL;`

/**
 * Sweeping looks at a record from `sweep_at` on, which is when it was to expire once, and never later than it expires.
 * So prolonging a record, as each refresh of a grant does, leaves the index alone: it is a fourth of what that takes.
 */
const sweepLazily = (name: string): string => `
  ALTER TABLE ${name} ADD COLUMN sweep_at INTEGER;
  UPDATE ${name} SET sweep_at = expires_at WHERE expires_at IS NOT NULL;
  DROP INDEX ${name}_by_expiry;
  CREATE INDEX ${name}_by_sweep ON ${name} (sweep_at) WHERE sweep_at IS NOT NULL;`

const first = ["clients", "grants", "usages", "accounts", "logins", "sessions", "links", "limits"]

/**
 * What to run, in this order, on an empty file. A file's `user_version` is how many it has seen. Only ever add at the
 * end; what has been released stays as it is, so nothing here may follow a list that grows elsewhere.
 */
export const migrations: ReadonlyArray<string> = [
  first.map(recordTable).join("\n"),
  first.map(sweepLazily).join("\n"),
  ["requests", "onces"].map((name) => recordTable(name) + sweepLazily(name)).join("\n")
]

/** What `file` shows for the database, and what tells it from another program's: "Tess". */
const ourApplication = 0x54657373

interface Header {
  readonly application: number
  readonly version: number
  readonly tables: number
}

const selectHeader = `
  SELECT application_id AS application, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS tables
  FROM pragma_application_id, pragma_user_version`

// The columns are integers by SQLite's own making, named as in the interface.
const header = (connection: Driver): Header => connection.prepare(selectHeader).get() as Header

const refusal = ({ application, version, tables }: Header): DatabaseRefused | undefined => {
  if (application !== ourApplication && (application !== 0 || version !== 0 || tables !== 0)) {
    return new DatabaseRefused({ reason: "foreign", message: "the SQLite file belongs to another program" })
  }
  if (version > migrations.length) {
    return new DatabaseRefused({
      reason: "newer",
      message: `the SQLite file has schema ${version}, made by a newer Tessera; this one knows up to ${migrations.length}`
    })
  }
  return undefined
}

/** Refuses where `migrate` would have something to do. It changes nothing. */
export const requireUpToDate = (connection: Driver): Result.Result<void, DatabaseRefused | MigrationsPending> => {
  const found = header(connection)
  const refused = refusal(found)
  if (refused !== undefined) return Result.fail(refused)
  if (found.version === migrations.length) return Result.void
  return Result.fail(
    new MigrationsPending({
      message: `the SQLite file has schema ${found.version}, and has to be brought to ${migrations.length} first`
    })
  )
}

/**
 * Brings the file to this version's schema, or refuses it untouched. Processes that start at once take turns at the
 * write lock, and look again once they have it. Throws what the driver throws, with nothing half done.
 */
export const migrate = (connection: Driver): Result.Result<void, DatabaseRefused> => {
  const found = header(connection)
  const refused = refusal(found)
  if (refused !== undefined) return Result.fail(refused)
  if (found.version === migrations.length) return Result.void

  connection.exec("BEGIN IMMEDIATE")
  try {
    const locked = header(connection)
    const refusedNow = refusal(locked)
    for (const migration of refusedNow === undefined ? migrations.slice(locked.version) : []) connection.exec(migration)
    if (refusedNow === undefined) {
      connection.exec(`PRAGMA application_id = ${ourApplication}`)
      connection.exec(`PRAGMA user_version = ${migrations.length}`)
    }
    connection.exec("COMMIT")
    return refusedNow === undefined ? Result.void : Result.fail(refusedNow)
  } catch (thrown) {
    rollback(connection)
    throw thrown
  }
}
