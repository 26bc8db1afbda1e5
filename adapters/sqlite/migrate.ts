import { Result, Schema } from "effect"
import { DatabaseRefused, type Driver, rollback } from "./Connection.ts"

/** The file is outdated, and `migrations: "check"` is set. */
export class MigrationsPending extends Schema.TaggedError<MigrationsPending>()("MigrationsPending", {
  message: Schema.String
}) {}

/**
 * Long bodies would make a table without rowids deep, so the primary key is an index beside the records. Ids, owners
 * and workspaces are key text (`../records/KeyText.ts`), bodies are JSON.
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
 * A sweep looks at a record from `sweep_at` on, which is never later than its expiry. Prolonging a record, as each
 * refresh does, leaves this index alone, which saves a fourth of its cost.
 */
const sweepLazily = (name: string): string => `
  ALTER TABLE ${name} ADD COLUMN sweep_at INTEGER;
  UPDATE ${name} SET sweep_at = expires_at WHERE expires_at IS NOT NULL;
  DROP INDEX ${name}_by_expiry;
  CREATE INDEX ${name}_by_sweep ON ${name} (sweep_at) WHERE sweep_at IS NOT NULL;`

const first = ["clients", "grants", "usages", "accounts", "logins", "sessions", "links", "limits"]

/**
 * Steps in order, from an empty file; `user_version` counts those that a file has seen. Only append. Released steps
 * stay as they are, so none may use a list that grows elsewhere.
 */
export const migrations: ReadonlyArray<string> = [
  first.map(recordTable).join("\n"),
  first.map(sweepLazily).join("\n"),
  ["requests", "onces"].map((name) => recordTable(name) + sweepLazily(name)).join("\n"),
  recordTable("workspaces") + sweepLazily("workspaces"),
  recordTable("signings") + sweepLazily("signings"),
  recordTable("logouts") + sweepLazily("logouts")
]

/** SQLite's application id, "Tess": `file` shows it, and it tells our files from others. */
const ourApplication = 0x54657373

interface Header {
  readonly application: number
  readonly version: number
  readonly tables: number
}

const selectHeader = `
  SELECT application_id AS application, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS tables
  FROM pragma_application_id, pragma_user_version`

// The columns are integers in SQLite, named as in the interface.
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

/** The version of the schema, where that is not the newest. */
const outdated = (connection: Driver): Result.Result<number | undefined, DatabaseRefused> => {
  const found = header(connection)
  const refused = refusal(found)
  if (refused !== undefined) return Result.fail(refused)
  return Result.succeed(found.version === migrations.length ? undefined : found.version)
}

/** Fails if `migrate` would change something. Changes nothing. */
export const requireUpToDate = (connection: Driver): Result.Result<void, DatabaseRefused | MigrationsPending> =>
  Result.flatMap(outdated(connection), (version) =>
    version === undefined
      ? Result.void
      : Result.fail(
          new MigrationsPending({
            message: `the SQLite file has schema ${version}, and has to be brought to ${migrations.length} first`
          })
        )
  )

/**
 * Migrates the file, or refuses it untouched. Processes that start at once take turns at the write lock and check
 * again. Throws what the driver throws, with nothing half done.
 */
export const migrate = (connection: Driver): Result.Result<void, DatabaseRefused> => {
  const before = outdated(connection)
  if (Result.isFailure(before)) return Result.fail(before.failure)
  if (before.success === undefined) return Result.void

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
