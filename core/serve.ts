import { Context, Effect, Exit, Fiber, type ManagedRuntime, Scope } from "effect"
import { comeBackSoon } from "./http/answer.ts"
import type { HttpRequest, HttpResponse } from "./http/Http.ts"
import { type Route, routeTable } from "./http/Route.ts"
import { Tessera } from "./Tessera.ts"
import { basePath, originOf, pathBelow, type Workspace } from "./workspace/Workspace.ts"

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
  /** The origin of the issuer that answers there, where that is known: what a redirect without a host means. */
  readonly originAt?: (path: string, host?: string) => string | undefined
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
    },
    originAt: (path, host = "") => {
      const workspace = at(host, path)
      return typeof workspace === "object" ? originOf(workspace.issuer) : undefined
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
    },
    originAt: () => originOf(workspace.issuer)
  }
}

export const goingAway = comeBackSoon("The server is not ready, or is shutting down.")

const answerOf = <E>(exit: Exit.Exit<HttpResponse, E>): HttpResponse => (Exit.isSuccess(exit) ? exit.value : goingAway)

export const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

/** What a runtime's layers hold, once they are built. */
interface Known {
  readonly services: Context.Context<Tessera>
  readonly tessera: Tessera["Service"]
  readonly fork: (answer: Effect.Effect<HttpResponse>) => Fiber.Fiber<HttpResponse>
}

/**
 * Requests that wait end with the runtime, like fibers that it starts itself: what it keeps of each of those costs as much
 * as a hash.
 */
const knownOf = <E>(runtime: ManagedRuntime.ManagedRuntime<Tessera, E>, services: Context.Context<Tessera>): Known => {
  const start = Effect.runForkWith(services)
  const waiting = new Set<Fiber.Fiber<HttpResponse>>()
  const endThem = Effect.withFiber((self) => {
    // Whoever disposes of the runtime while it answers does not wait for itself.
    const others = [...waiting].filter(({ id }) => id !== self.id)
    return Fiber.interruptAll(others)
  })
  Effect.runSync(Scope.addFinalizer(runtime.scope, endThem))
  const fork: Known["fork"] = (answer) => {
    const fiber = start(answer)
    if (fiber.pollUnsafe() !== undefined) return fiber
    waiting.add(fiber)
    fiber.addObserver(() => waiting.delete(fiber))
    return fiber
  }
  return { services, tessera: Context.get(services, Tessera), fork }
}

/** The authorization server that a runtime's layers hold, as a plain function. Build the runtime once, for all requests. */
export const serveWith = <E>(runtime: ManagedRuntime.ManagedRuntime<Tessera, E>): Serve => {
  const wait = (fiber: Fiber.Fiber<HttpResponse, E>) => {
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return answerOf(exit)
    return new Promise<HttpResponse>((resolve) => {
      fiber.addObserver((exit) => resolve(answerOf(exit)))
    })
  }
  let known: Known | undefined
  return (request) => {
    const services = runtime.cachedContext
    // Until the layers are built, and once they are gone, only the runtime knows what to say.
    if (services === undefined) {
      return wait(runtime.runFork(Effect.flatMap(Tessera, (tessera) => tessera.handle(request))))
    }
    if (known?.services !== services) known = knownOf(runtime, services)
    const answer = known.tessera.begin(request)
    return isDone(answer) ? answerOf(answer) : wait(known.fork(answer))
  }
}
