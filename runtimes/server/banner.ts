import { Option, Redacted } from "effect"
import { hostInUrl } from "./Listen.ts"
import type { SealKeys } from "./SealKeyFile.ts"
import { type HostingSettings, isLocal, type Settings } from "./Settings.ts"

/** Whether a client of the public network may register and then call the API as the workspace. */
export const hasOpenAccess = (settings: Settings): boolean =>
  settings.registration._tag === "Open" && settings.policy.workspaceAccess === "registered" && !isLocal(settings)

export const openAccessWarning = "every application that registers may call the API as the workspace, without a person"
export const openAccessAdvice =
  "Set WORKSPACE_ACCESS=approved, so that an owner approves them first, or WORKSPACE_ACCESS=owner; or REGISTRATION to token or closed."

/** Which applications may call the API as the workspace, and why these. */
const accessOf = ({ policy, workspace, workspaceAccessBecause }: Settings): string => {
  const which = {
    registered: "registered: every application that asks for it acts without a person",
    approved: `approved: an owner approves, in ${workspace.issuer}/settings/clients, what acts without a person`,
    owner: "owner: only applications that an owner made act without a person"
  }
  return `${which[policy.workspaceAccess]} (${workspaceAccessBecause})`
}

/** Where other workspaces than that of `BASE_URL` come from. */
const besideOf = (hosting: Exclude<HostingSettings, { readonly _tag: "One" }>): string =>
  hosting._tag === "File"
    ? `those of ${hosting.path} too`
    : "those of the storage too (`tessera workspace add` makes one)"

const registering = (issuer: string): string =>
  [
    `  curl -s ${issuer}/oauth/register -H 'content-type: application/json' \\`,
    `    -d '{"client_name": "My app", "redirect_uris": ["http://127.0.0.1:8080/callback"]}'`
  ].join("\n")

const tryNext = (settings: Settings): string => {
  const { issuer } = settings.workspace
  switch (settings.registration._tag) {
    case "Open":
      return `To register an application:\n\n${registering(issuer)}`
    case "Token":
      return `To register an application, with the initial access token in $REGISTRATION_TOKEN:\n\n${registering(issuer)} \\\n    -H "authorization: Bearer $REGISTRATION_TOKEN"`
    case "Closed":
      return "Registration is closed: `tessera client create` registers an application."
  }
}

/** For the operator who started the server: where it is, where its things are, and what to do next. */
export const banner = (
  settings: Settings,
  port: number,
  keys: SealKeys,
  setUpLink: Redacted.Redacted<string> | undefined
): string => {
  const facts = [
    ["listening on", `${Option.isSome(settings.tls) ? "https" : "http"}://${hostInUrl(settings.host)}:${port}`],
    ["issuer", settings.workspace.issuer],
    ...(settings.hosting._tag === "One" ? [] : [["workspaces", besideOf(settings.hosting)]]),
    ["access", accessOf(settings)],
    ["storage", settings.database.described],
    ["seal keys", `${keys.place}${keys.made && settings.database.file !== undefined ? " (just made; back it up)" : ""}`]
  ].map(([name = "", value = ""]) => `  ${name.padEnd(14)}${value}`)
  const first =
    setUpLink === undefined
      ? []
      : [
          `There is no account yet. Make the first one here; the link works once, for a day:\n\n  ${Redacted.value(setUpLink)}\n`
        ]
  return ["Tessera\n", ...facts, "", ...first, tryNext(settings), ""].join("\n")
}
