import { layerOf, type SqliteOptions } from "./SqliteStorage.ts"

/** Records in a SQLite file, which is made where it is missing. Any number of processes may share it. */
export const layer = (options: SqliteOptions) => layerOf(options)
