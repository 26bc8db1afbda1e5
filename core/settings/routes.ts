import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Endpoint, Parts, Route } from "../http/Route.ts"
import { basePath } from "../workspace/Workspace.ts"
import { appsEndpoint, changeAppsEndpoint } from "./apps.ts"
import { changeClientsEndpoint, clientsEndpoint } from "./clients.ts"
import { homeEndpoint } from "./home.ts"
import type { SettingsOptions } from "./inside.ts"
import { changeKeysEndpoint, keysEndpoint } from "./keys.ts"

const pageRoute = (path: string, methods: Route["methods"]): Route => ({
  path,
  match: "exact",
  methods,
  errors: "page",
  cors: false
})

/** What everybody has a section of. */
const firstSection: Endpoint = ({ workspace }) =>
  Effect.succeed(seeOther(`${basePath(workspace.issuer)}/settings/apps`))

/** The home page and the settings that need no more than a `ResourceOwner`, for `Tessera.layer({ routes })`. */
export const settingsRoutes = (parts: Parts, options: SettingsOptions = {}): ReadonlyArray<Route> => {
  const home = pageRoute("/", { GET: homeEndpoint(parts, options) })
  if (options.homeOnly === true) return [home]
  return [
    home,
    pageRoute("/settings", { GET: firstSection }),
    pageRoute("/settings/apps", { GET: appsEndpoint(parts, options), POST: changeAppsEndpoint(parts, options) }),
    pageRoute("/settings/keys", { GET: keysEndpoint(parts, options), POST: changeKeysEndpoint(parts, options) }),
    pageRoute("/settings/clients", {
      GET: clientsEndpoint(parts, options),
      POST: changeClientsEndpoint(parts, options)
    })
  ]
}
