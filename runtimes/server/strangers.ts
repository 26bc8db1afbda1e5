import { isLoopbackHost } from "../../core/workspace/Workspace.ts"
import type { Settings } from "./Settings.ts"

/** Whether anybody who reaches this server may call the API as the workspace: whoever registers for it can. */
export const strangersActForWorkspace = ({ policy, registration, workspace }: Settings): boolean =>
  registration._tag === "Open" &&
  policy.workspaceAccess === "registered" &&
  !isLoopbackHost(new URL(workspace.issuer).hostname)

export const strangersSay = "anybody may register an application that calls the API as the workspace, without a person"
export const strangersAdvice =
  "Set WORKSPACE_ACCESS=owner, so that only applications made by an owner may; or REGISTRATION to token or closed."
