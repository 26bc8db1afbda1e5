import { Effect, Scope } from "effect"
import { connect } from "../../adapters/sqlite/connect.ts"

const workspace = "default"

interface SqliteRow {
  readonly version: number
  readonly expiresAt: number
  readonly body: string
}

/** A file of ours with our settings, and the adapter's statements for a grant that comes to expire later. */
export const openSqliteRows = async (path: string) => {
  const scope = Scope.makeUnsafe()
  const connection = await Effect.runPromise(Effect.provideService(connect(path), Scope.Scope, scope))
  const begin = connection.prepare("BEGIN IMMEDIATE")
  const commit = connection.prepare("COMMIT")
  const select = connection.prepare(
    "SELECT owner, version, expires_at AS expiresAt, body FROM grants WHERE workspace = ? AND id = ?"
  )
  const update = connection.prepare(
    `UPDATE grants SET version = version + 1, expires_at = ?1, body = ?2
      WHERE workspace = ?3 AND id = ?4 AND version = ?5 AND sweep_at <= ?1`
  )
  return {
    begin,
    commit,
    // The columns of the statement above.
    read: (id: string) => select.get(workspace, id) as SqliteRow,
    swap: (id: string, { body, expiresAt, version }: SqliteRow): boolean =>
      update.run(expiresAt, body, workspace, id, version) === 1
  }
}
