import { type ReturnAddress, returnAddress } from "../pages/ReturnAddress.ts"

const hostOf = (address: ReturnAddress): string | undefined => {
  switch (address.kind) {
    case "site":
    case "thisDevice":
      return address.host
    case "app":
      return address.opens
    case "unknown":
      return undefined
  }
}

/** The hosts of a client's redirect URIs, or how the links of an application begin, each once. */
export const returnHosts = (redirectUris: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(redirectUris.map((uri) => hostOf(returnAddress(uri))).filter((host) => host !== undefined))
]
