import { open } from "../../../adapters/sqlite/bunConnection.ts"
import { migrations } from "../../../adapters/sqlite/migrate.ts"

/** Makes a file as the first schema's release did. */
export const makeOldFile = (path: string): void => {
  const connection = open(path)
  connection.exec(migrations[0] ?? "")
  connection.exec(`PRAGMA application_id = ${0x54657373}`)
  connection.exec("PRAGMA user_version = 1")
  connection.close()
}
