import { neutralise } from "../rules/neutralise.ts"
import { isLoopbackHost } from "../workspace/Workspace.ts"

/** Where a redirect URI leads, as a person would call it. */
export type ReturnAddress =
  | { readonly kind: "site"; readonly host: string }
  | { readonly kind: "thisDevice"; readonly host: string }
  /** `opens`: how the links begin that lead to it. */
  | { readonly kind: "app"; readonly scheme: string; readonly opens: string }
  | { readonly kind: "unknown" }

const longest = 120

/** A scheme with a dot is one application's; one without is an editor's, and the host says which of its extensions. */
const appAddress = ({ host, protocol }: URL): ReturnAddress => {
  const shared = !protocol.includes(".") && host !== ""
  return {
    kind: "app",
    scheme: neutralise(protocol.slice(0, -1), longest) ?? "",
    opens: neutralise(shared ? `${protocol}//${host}` : protocol, longest) ?? ""
  }
}

/** The host is in its ASCII form, so that no letter passes for another. */
export const returnAddress = (redirectUri: string): ReturnAddress => {
  if (!URL.canParse(redirectUri)) return { kind: "unknown" }
  const url = new URL(redirectUri)
  const web = url.protocol === "https:" || url.protocol === "http:"
  if (!web) return appAddress(url)
  return { kind: isLoopbackHost(url.hostname) ? "thisDevice" : "site", host: url.host }
}
