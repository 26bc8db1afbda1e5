import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import { type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { appsEndpoint } from "./appsSection.ts"
import { clientsEndpoint } from "./clientsSection.ts"
import { documentsEndpoint } from "./documentsSection.ts"
import { homeHandler } from "./home.ts"
import type { SettingsOptions } from "./inside.ts"
import { issuersEndpoint } from "./issuersSection.ts"
import { keysEndpoint } from "./keysSection.ts"
import { resourcesEndpoint } from "./resourcesSection.ts"

/** The section that owners and members both have. */
const firstSection: Handler = ({ workspace }) => Effect.succeed(seeOther(`${pagesPath(workspace)}/settings/apps`))

const sections = [appsEndpoint, keysEndpoint, clientsEndpoint, resourcesEndpoint, documentsEndpoint, issuersEndpoint]

/** The home page and the settings that need only a `ResourceOwner`. */
export const settingsEndpoints = (options: SettingsOptions = {}): ReadonlyArray<Endpoint> => {
  const home = pageEndpoint("/", { GET: page((services) => homeHandler(services, options)) })
  if (options.homeOnly === true) return [home]
  const visitorsOf = ({ owner }: Services) => ({
    current: owner.current,
    accountsElsewhere: options.accountsElsewhere === true
  })
  return [
    home,
    pageEndpoint("/settings", { GET: page(() => firstSection) }),
    ...sections.map((endpoint) => endpoint(visitorsOf))
  ]
}
