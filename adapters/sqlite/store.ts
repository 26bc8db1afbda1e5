import { Result } from "effect"
import { openLazily, readParameters, type Store, type StoreKind } from "../StoreKind.ts"

export const sqlite: StoreKind = {
  schemes: ["sqlite"],
  looks: "sqlite:PATH",
  shared: false,
  lasts: true,
  entry: "sqlite",
  at: (url) => {
    const [, path = "", query = ""] = /^sqlite:([^?]*)(?:\?(.*))?$/s.exec(url) ?? []
    // SQLite's name for a database without a file; here that is `memory:`.
    if (path === "" || path === ":memory:") return Result.fail("expected sqlite:PATH, or memory: for no file")
    // On Node SQLite would take it for a URL, while what stands beside the file would be made at a path of this name.
    if (path.startsWith("file:")) return Result.fail("expected sqlite:PATH, without file:")
    return Result.map(readParameters(query, {}), () => sqliteAt(path))
  }
}

export const sqliteAt = (path: string): Store => {
  const described = `SQLite in ${path}`
  return {
    kind: sqlite,
    described,
    location: path,
    file: path,
    open: ({ migrations }) =>
      openLazily(described, async () =>
        (await import("./SqliteStorage.ts")).layerAtOnce(migrations === undefined ? { path } : { path, migrations })
      )
  }
}
