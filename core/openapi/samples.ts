import { secretJson } from "../http/answer.ts"
import { answerFault, broken } from "../http/answerFault.ts"
import { corsHeaders, noSniffing } from "../http/commonHeaders.ts"
import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import type { Route } from "../http/Route.ts"
import { oauthError } from "../http/wire.ts"
import type { Pages } from "../ports/Pages.ts"
import { Instant } from "../rules/Instant.ts"
import { Overloaded } from "../rules/Refusal.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { Components } from "./Components.ts"
import type { Contract, Fault } from "./contract/Contract.ts"
import { everyFault } from "./everyFault.ts"
import { errorDescription, type Sampled } from "./responses.ts"

/** What a route's answers are made from. */
export interface Surroundings {
  readonly pages: Pages["Service"]
  readonly workspace: Workspace
  readonly components: Components
}

const error = (response: HttpResponse): Sampled => ({ response, description: errorDescription(response.status) })

/** What every answer carries. */
const headersOf = (cors: boolean): HeaderPairs => [["x-request-id", ""], ...(cors ? corsHeaders : [])]

/** What a runtime answers, at every path alike, before the core has seen the request. */
const turnedAway = (response: HttpResponse): Sampled =>
  error({ ...response, headers: [...response.headers, ...headersOf(true)] })

const overloaded = turnedAway(oauthError(new Overloaded()))
const tooLarge = turnedAway(
  secretJson(413, { error: "invalid_request", error_description: "" }, [noSniffing, ["connection", "close"]])
)

/** What the core answers. */
const finished = (route: Route, sampled: Sampled): Sampled => {
  const { headers, ...response } = sampled.response
  const others = headers.filter(([name]) => name !== noSniffing[0])
  return { ...sampled, response: { ...response, headers: [...others, noSniffing, ...headersOf(route.cors)] } }
}

/** Every answer that an operation may give, made as the server makes it. */
export const samplesOf = (
  { components, pages, workspace }: Surroundings,
  route: Route,
  contract: Contract
): ReadonlyArray<Sampled> => {
  const { path } = route
  const request = { method: "GET", path, query: "", headers: { get: () => undefined }, body: "" }
  const call = { request, workspace, path, endpoint: path, now: Instant.make(0), requestId: "" }
  const faults: ReadonlyArray<Fault> = contract.faults
    .flatMap(everyFault)
    .filter((fault) => contract.spares?.(fault) !== true)
  const own = contract.answers.map(({ body, description, like }) => ({
    response: like({ pages, workspace }),
    description,
    ...(body === undefined ? {} : { schema: components.use(body) })
  }))
  return [
    ...own.map((sampled) => finished(route, sampled)),
    ...faults.map((fault) => finished(route, error(answerFault(pages, call, route.errors, fault)))),
    // What touches nothing that can fail does not break.
    ...(contract.faults.length === 0 ? [] : [finished(route, error(broken))]),
    overloaded,
    ...(contract.form === undefined && contract.json === undefined ? [] : [tooLarge])
  ]
}
