import { type Mount, mountOf, mountOfMany, type Serve, serveWith } from "../../../core/serve.ts"
import { Tessera } from "../../../core/Tessera.ts"
import { nativeOf } from "../../../runtimes/embed/nativeRequest.ts"
import { type Guard, localGuard } from "../../../runtimes/guard.ts"
import { app, workspacesAt } from "../given/app.ts"

export interface Embedded {
  readonly mount: Mount
  readonly guard: Guard
}

/** Whether it serves one workspace, or the second one too. */
export type Hosts = "one" | "many"

export const needs = { scopes: ["api"] }

const seen = new WeakSet<object>()

/** The app has had this request in its hands, in the form that its own middleware knows. */
export const see = (native: object): void => {
  seen.add(native)
}

/** Tells a client that asks by a header whether the core can find the app's own request again, with its session. */
const askable =
  (serve: Serve): Serve =>
  (request) => {
    if ((request.headers.get("x-native") ?? undefined) === undefined) return serve(request)
    const native = nativeOf(request)
    return { status: 200, headers: [], body: String(typeof native === "object" && native !== null && seen.has(native)) }
  }

/** The very core that the transcript is played on elsewhere, as an application of a framework mounts it, or all of it. */
export const embedded = async (issuer: string, hosts: Hosts = "one"): Promise<Embedded> => {
  const runtime = app(issuer)
  const { guard, routes } = await runtime.runPromise(Tessera)
  const find = workspacesAt(issuer)
  const serve = askable(serveWith(runtime))
  const mount = hosts === "one" ? mountOf(serve, find(""), routes) : mountOfMany(serve, (_, path) => find(path), routes)
  return { mount, guard: localGuard((request, needs) => runtime.runPromise(guard(request, needs))) }
}
