import { Result } from "effect"
import type { Driver } from "./Connection.ts"
import { DatabaseRefused } from "./DatabaseRefused.ts"
import { MigrationsPending } from "./MigrationsPending.ts"
import { migrations } from "./migrations.ts"
import { rollback } from "./rollback.ts"

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
