import { basePath, type Workspace } from "../workspace/Workspace.ts"

export const consentPath = "/consent"
export const authorizePath = "/oauth/authorize"

/** Where browsers ask for this workspace's authorization. */
export const authorizeAt = (workspace: Workspace): string => basePath(workspace.issuer) + authorizePath
