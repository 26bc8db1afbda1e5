import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import { type Endpoint, type Handler, type Parts, page, pageEndpoint } from "../http/Route.ts"
import { basePath } from "../workspace/Workspace.ts"
import { appsHandler, changeAppsHandler } from "./apps.ts"
import { changeClientsHandler, clientsHandler } from "./clients.ts"
import { homeHandler } from "./home.ts"
import type { SettingsOptions } from "./inside.ts"
import { changeKeysHandler, keysHandler } from "./keys.ts"

/** What everybody has a section of. */
const firstSection: Handler = ({ workspace }) => Effect.succeed(seeOther(`${basePath(workspace.issuer)}/settings/apps`))

/** The home page and the settings that need no more than a `ResourceOwner`. */
export const settingsEndpoints = (options: SettingsOptions = {}): ReadonlyArray<Endpoint> => {
  const shown = (handler: (parts: Parts, options: SettingsOptions) => Handler) =>
    page((parts) => handler(parts, options))
  const home = pageEndpoint("/", { GET: shown(homeHandler) })
  if (options.homeOnly === true) return [home]
  return [
    home,
    pageEndpoint("/settings", { GET: page(() => firstSection) }),
    pageEndpoint("/settings/apps", { GET: shown(appsHandler), POST: shown(changeAppsHandler) }),
    pageEndpoint("/settings/keys", { GET: shown(keysHandler), POST: shown(changeKeysHandler) }),
    pageEndpoint("/settings/clients", { GET: shown(clientsHandler), POST: shown(changeClientsHandler) })
  ]
}
