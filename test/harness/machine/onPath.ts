import { accessSync, constants, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"

export const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Every match on the PATH, best first. */
export const onPath = (name: string): ReadonlyArray<string> =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .filter(isExecutable)

/** The file behind symbolic links. */
export const resolved = (file: string): string => realpathSync(file)
