import type { DatabaseUrl } from "../server/DatabaseUrl.ts"
import type { StorageSettings } from "../server/StorageSettings.ts"

/** Whether the next start of a server brings this database up to date. */
export const startBringsUpToDate = (database: DatabaseUrl, { postgres }: StorageSettings): boolean =>
  database._tag !== "Postgres" || postgres.migrations === "run"

/** What to do about a database that is not up to date. */
export const bringUpToDate = (database: DatabaseUrl, settings: StorageSettings): string => {
  if (!startBringsUpToDate(database, settings)) return "Run: tessera migrate"
  const start = "A server of this release does so when it starts"
  return database._tag === "Postgres" ? `${start}, and \`tessera migrate\` does so now.` : `${start}.`
}
