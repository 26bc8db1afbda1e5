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

/** Every place where the shell would find it, best first. */
export const onPath = (name: string): ReadonlyArray<string> =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .filter(isExecutable)

/** Where it really lies, past the links that lead there. */
export const resolved = (file: string): string => realpathSync(file)
