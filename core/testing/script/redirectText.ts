import type { Published, RedirectTwist } from "./Command.ts"

/** What is sent as `redirect_uri`, from what was registered. A client without any gets one made up. */
export const redirectText = (registered: ReadonlyArray<string>, index: number, twist: RedirectTwist): string | null => {
  const uri = registered[index % Math.max(registered.length, 1)] ?? "https://nowhere.example/cb"
  switch (twist) {
    case "as registered":
      return uri
    case "port":
      return uri.replace(/^(https?:\/\/(?:\[[^\]]*\]|[^/:?]+))(?::\d+)?/, "$1:4711")
    case "longer":
      return `${uri}/more`
    case "shorter":
      return uri.slice(0, -1)
    case "elsewhere":
      return "https://evil.example/cb"
    case "upper case":
      return uri.toUpperCase()
    case "missing":
      return null
  }
}

/** The redirect URIs that a client's document names; `undefined`: no client comes of it. */
export const redirectsNamed = (all: ReadonlyArray<string>, says: Published): ReadonlyArray<string> | undefined => {
  switch (says) {
    case "all":
      return all
    case "the first":
      return all.slice(0, 1)
    case "the last":
      return all.slice(-1)
    case "no client":
    case "nothing":
      return undefined
  }
}
