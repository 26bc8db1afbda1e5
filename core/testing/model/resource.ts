import type { ResourceAsk } from "../script/Command.ts"
import type { WorkspaceNumber, World } from "./World.ts"

/** The text that is sent for each way of asking; of several resources, with a space between them. */
export const resourceText = (ask: ResourceAsk, world: World, workspace: WorkspaceNumber): string | null => {
  const issuer = world.issuers[workspace]
  switch (ask) {
    case "none":
      return null
    case "issuer":
      return issuer
    case "slash":
      return `${issuer}/`
    case "below":
      return `${issuer}/rest/companies`
    case "two":
      return `${issuer}/rest/companies ${issuer}/other`
    case "the other":
      return `${issuer}/other`
    case "one of elsewhere":
      return `${issuer}/rest/companies https://elsewhere.example/api`
    case "elsewhere":
      return "https://elsewhere.example/api"
    case "other workspace":
      return world.issuers[workspace === 0 ? 1 : 0]
  }
}

/** Each of several is one of the others, or below one. */
export const isWithin = (narrow: string, wide: string): boolean =>
  narrow.split(" ").every((one) => wide.split(" ").some((outer) => one === outer || one.startsWith(`${outer}/`)))

/** Whether a token for `resource` may be sent to the API at this address; `null` is any. */
export const isFor = (resource: string | null, at: string): boolean => resource === null || isWithin(at, resource)

/** With or without a slash at the end it is the same resource. */
export const sameResource = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text)

export type Target = "invalid" | { readonly resource: string | null }

/** RFC 8707 §2: what is asked for at authorize. */
export const targetAtAuthorize = (ask: ResourceAsk, world: World, workspace: WorkspaceNumber): Target => {
  const text = resourceText(ask, world, workspace)
  if (text === null) return { resource: null }
  const resource = sameResource(text)
  return isWithin(resource, world.issuers[workspace]) ? { resource } : "invalid"
}

/** RFC 8707 §2.2: what was bound may only be narrowed; where nothing was bound, anything of the workspace is narrower. */
export const targetAtToken = (
  ask: ResourceAsk,
  bound: string | null,
  world: World,
  workspace: WorkspaceNumber
): Target => {
  const asked = targetAtAuthorize(ask, world, workspace)
  if (asked === "invalid" || bound === null) return asked
  if (asked.resource === null) return { resource: bound }
  return isWithin(asked.resource, bound) ? asked : "invalid"
}
