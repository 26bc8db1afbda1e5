import { Context, Result } from "effect"
import { rowsByName } from "../core/oauth/rowsByName.ts"
import { memory } from "./memory/store.ts"
import { postgres } from "./postgres/store.ts"
import { redis } from "./redis/store.ts"
import type { Store, StoreKind } from "./StoreKind.ts"
import { sqlite } from "./sqlite/store.ts"

/** The server's kinds of store. To add one, give it a row. */
export const stores: ReadonlyArray<StoreKind> = [memory, sqlite, postgres, redis]

/** The table that settings and commands read. */
export const StoreKinds = Context.Reference<ReadonlyArray<StoreKind>>("tessera/adapters/StoreKinds", {
  defaultValue: () => stores
})

/** Examples of the URLs, for an error. */
export const expectedUrl = (kinds: ReadonlyArray<StoreKind> = stores): string => {
  const looks = kinds.map((kind) => kind.looks)
  return [looks.slice(0, -1).join(", "), ...looks.slice(-1)].filter((part) => part !== "").join(" or ")
}

/** The rows by scheme. A scheme of two rows is a defect, because a URL could not tell them apart. */
const bySchemes = (kinds: ReadonlyArray<StoreKind>): ReadonlyMap<string, StoreKind> => {
  const schemes = kinds.flatMap((kind) => kind.schemes.map((scheme) => [scheme, kind] as const))
  return new Map(Result.getOrThrow(rowsByName("kinds of store", schemes, ([scheme]) => scheme)).values())
}

/** The store of a URL, or the URL's fault. */
export const readStoreUrl = (url: string, kinds: ReadonlyArray<StoreKind> = stores): Result.Result<Store, string> => {
  const scheme = /^([a-z+]+):/.exec(url)?.[1]
  const kind = bySchemes(kinds).get(scheme ?? "")
  return kind === undefined ? Result.fail(`expected ${expectedUrl(kinds)}`) : kind.at(url)
}
