export interface LockedPackage {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export type Lock = Readonly<Record<string, LockedPackage>>

/** The folders where Node looks for what a package imports: its own, and those of all that it lies in. */
const foldersAbove = (path: string): ReadonlyArray<string> => {
  const parts = path === "" ? [] : path.split("/node_modules/")
  return [
    "node_modules",
    ...parts.map((_, index) => `${parts.slice(0, index + 1).join("/node_modules/")}/node_modules`)
  ]
}

/**
 * What packages ask for and the lock file does not have, builds for other platforms included. npm writes such a file
 * when a registry lacks a build, works on with what it has, and refuses the file in every fresh clone.
 */
export const missingFrom = (lock: Lock): ReadonlyArray<string> =>
  Object.entries(lock).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !foldersAbove(path).some((folder) => `${folder}/${name}` in lock))
      .map((name) => `${name}, which ${path || "this package"} asks for`)
  )
