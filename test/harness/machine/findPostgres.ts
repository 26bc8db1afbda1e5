import { existsSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { isExecutable, onPath, resolved } from "./onPath.ts"

const debian = "/usr/lib/postgresql"

/** Debian keeps each version's programs in a folder outside the PATH. */
const versioned = (): ReadonlyArray<string> =>
  existsSync(debian)
    ? readdirSync(debian)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(debian, version, "bin"))
    : []

const isWhole = (folder: string) =>
  ["postgres", "initdb", "pg_isready"].every((name) => isExecutable(join(folder, name)))

/** The folder with PostgreSQL's programs. */
export const findPostgres = (): string | undefined =>
  [...onPath("postgres").map((file) => dirname(resolved(file))), ...versioned()].find(isWhole)
