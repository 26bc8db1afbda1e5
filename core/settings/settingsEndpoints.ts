import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import { type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { appsHandler, changeAppsHandler } from "./appsSection.ts"
import { changeClientsHandler, clientsHandler } from "./clientsSection.ts"
import { changeDocumentsHandler, documentsHandler } from "./documentsSection.ts"
import { homeHandler } from "./home.ts"
import type { SettingsOptions, Visitors } from "./inside.ts"
import { changeIssuersHandler, issuersHandler } from "./issuersSection.ts"
import { changeKeysHandler, keysHandler } from "./keysSection.ts"
import { changeResourcesHandler, resourcesHandler } from "./resourcesSection.ts"

/** The section that owners and members both have. */
const firstSection: Handler = ({ workspace }) => Effect.succeed(seeOther(`${pagesPath(workspace)}/settings/apps`))

/** The home page and the settings that need only a `ResourceOwner`. */
export const settingsEndpoints = (options: SettingsOptions = {}): ReadonlyArray<Endpoint> => {
  const home = pageEndpoint("/", { GET: page((services) => homeHandler(services, options)) })
  if (options.homeOnly === true) return [home]
  const shown = (handler: (services: Services, visitors: Visitors) => Handler) =>
    page((services) =>
      handler(services, { current: services.owner.current, accountsElsewhere: options.accountsElsewhere === true })
    )
  return [
    home,
    pageEndpoint("/settings", { GET: page(() => firstSection) }),
    pageEndpoint("/settings/apps", { GET: shown(appsHandler), POST: shown(changeAppsHandler) }),
    pageEndpoint("/settings/keys", { GET: shown(keysHandler), POST: shown(changeKeysHandler) }),
    pageEndpoint("/settings/clients", { GET: shown(clientsHandler), POST: shown(changeClientsHandler) }),
    pageEndpoint("/settings/resources", { GET: shown(resourcesHandler), POST: shown(changeResourcesHandler) }),
    pageEndpoint("/settings/documents", { GET: shown(documentsHandler), POST: shown(changeDocumentsHandler) }),
    pageEndpoint("/settings/issuers", { GET: shown(issuersHandler), POST: shown(changeIssuersHandler) })
  ]
}
