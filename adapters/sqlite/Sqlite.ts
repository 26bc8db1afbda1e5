import { layerOf, type SqliteOptions } from "./SqliteStorage.ts"

/** Records in a SQLite file, which is created if missing. Processes may share it. */
export const layer = (options: SqliteOptions) => layerOf(options)
