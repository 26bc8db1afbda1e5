import { Context, Effect, Exit, type ManagedRuntime } from "effect"
import { secretJson } from "./http/answer.ts"
import type { HttpRequest, HttpResponse } from "./http/Http.ts"
import { type Route, routeTable } from "./http/Route.ts"
import { Tessera } from "./Tessera.ts"
import { basePath, pathBelow, type Workspace } from "./workspace/Workspace.ts"

/** What a runtime asks for every request: the answer itself where nothing had to be waited for. It never throws. */
export type Serve = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>

/** All that a framework has to know of an authorization server to make room for it beside an app's own routes. */
export interface Mount {
  readonly serve: Serve
  /** What is answered here, without the issuer's own path. */
  readonly routes: ReadonlyArray<Pick<Route, "path" | "match">>
  /** The issuer's own path, which comes before every route: empty, or `/` and more. `undefined`: there are several. */
  readonly prefix: string | undefined
  /**
   * Whether this path, whole and without its query, is answered here and not by the app. `host`: the request's, by which
   * a server of several workspaces tells them apart.
   */
  readonly owns: (path: string, host?: string) => boolean
  /** Runs what there is to log of answers that a platform would not send. Default: on effect's default loggers. */
  readonly log?: (entry: Effect.Effect<void>) => void
}

/**
 * A server of several workspaces, as a framework mounts it. `at`: whose an address is, `unknown` where that is not
 * known yet.
 */
export const mountOfMany = (
  serve: Serve,
  at: (host: string, path: string) => Workspace | "unknown" | undefined,
  routes: ReadonlyArray<Route>
): Mount => {
  const find = routeTable(routes)
  return {
    serve,
    routes,
    prefix: undefined,
    owns: (path, host = "") => {
      const workspace = at(host, path)
      if (workspace === "unknown") return find(path) !== undefined
      const below = workspace === undefined ? undefined : pathBelow(workspace, path)
      return below !== undefined && find(below) !== undefined
    }
  }
}

/** A server of one workspace, as a framework mounts it. */
export const mountOf = (serve: Serve, workspace: Workspace, routes: ReadonlyArray<Route>): Mount => {
  const find = routeTable(routes)
  return {
    serve,
    routes,
    prefix: basePath(workspace.issuer),
    owns: (path) => {
      const below = pathBelow(workspace, path)
      return below !== undefined && find(below) !== undefined
    }
  }
}

export const goingAway: HttpResponse = secretJson(
  503,
  { error: "temporarily_unavailable", error_description: "The server is not ready, or is shutting down." },
  [["retry-after", "1"]]
)

const answerOf = <E>(exit: Exit.Exit<HttpResponse, E>): HttpResponse => (Exit.isSuccess(exit) ? exit.value : goingAway)

const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

/** The authorization server that a runtime's layers hold, as a plain function. Build the runtime once, for all requests. */
export const serveWith = <E>(runtime: ManagedRuntime.ManagedRuntime<Tessera, E>): Serve => {
  const wait = (answer: Effect.Effect<HttpResponse, E, Tessera>) => {
    const fiber = runtime.runFork(answer)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return answerOf(exit)
    return new Promise<HttpResponse>((resolve) => {
      fiber.addObserver((exit) => resolve(answerOf(exit)))
    })
  }
  let known: { readonly services: Context.Context<Tessera>; readonly tessera: Tessera["Service"] } | undefined
  return (request) => {
    const services = runtime.cachedContext
    // Until the layers are built, and once they are gone, only the runtime knows what to say.
    if (services === undefined) return wait(Effect.flatMap(Tessera, (tessera) => tessera.handle(request)))
    if (known?.services !== services) known = { services, tessera: Context.get(services, Tessera) }
    const answer = known.tessera.begin(request)
    return isDone(answer) ? answerOf(answer) : wait(answer)
  }
}
