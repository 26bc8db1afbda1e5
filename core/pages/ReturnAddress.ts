import { neutralise } from "../rules/neutralise.ts"
import { isLoopbackHost } from "../workspace/Workspace.ts"

/** Where a redirect URI leads, as a person would call it. */
export type ReturnAddress =
  | { readonly kind: "site"; readonly host: string }
  | { readonly kind: "thisDevice"; readonly host: string }
  | { readonly kind: "app"; readonly scheme: string }
  | { readonly kind: "unknown" }

/** The host is in its ASCII form, so that no letter passes for another. */
export const returnAddress = (redirectUri: string): ReturnAddress => {
  if (!URL.canParse(redirectUri)) return { kind: "unknown" }
  const url = new URL(redirectUri)
  const web = url.protocol === "https:" || url.protocol === "http:"
  if (!web) return { kind: "app", scheme: neutralise(url.protocol.slice(0, -1), 120) ?? "" }
  return { kind: isLoopbackHost(url.hostname) ? "thisDevice" : "site", host: url.host }
}
