import { Result } from "effect"
import { openLazily, readParameters, type StoreKind } from "../StoreKind.ts"

export const memory: StoreKind = {
  schemes: ["memory"],
  looks: "memory:",
  shared: false,
  lasts: false,
  entry: "memory",
  at: (url) => {
    const [, rest = ""] = /^memory:([^?]*)/.exec(url) ?? []
    if (rest !== "") return Result.fail("expected nothing behind memory:")
    const described = "this process's memory: everything is gone when it ends"
    return Result.map(readParameters(url.slice("memory:?".length), {}), () => ({
      kind: memory,
      described,
      location: "memory:",
      open: () => openLazily(described, async () => (await import("./MemoryStorage.ts")).layerAtOnce)
    }))
  }
}
