import { neutralise } from "../rules/neutralise.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
import { defaultTheme, type Theme } from "./Theme.ts"

/** Where a page stands: what all pages of one workspace share. */
export interface Place {
  /** How the workspace is called in sentences. */
  readonly name: string
  /** What every path starts with: empty, or `/` and more. */
  readonly base: string
  readonly issuer: string
  readonly theme: Theme
}

export const placeOf = (workspace: Workspace, theme: Theme = defaultTheme): Place => ({
  name: neutralise(theme.name ?? workspace.name, 80) ?? "this server",
  base: basePath(workspace.issuer),
  issuer: workspace.issuer,
  theme
})
