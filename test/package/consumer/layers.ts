import { Effect, Layer, ManagedRuntime, Option } from "effect"
import * as T from "tessera/core"
import * as ofFetch from "tessera/fetch"
import type { Server } from "./play.ts"

const issuer = "https://auth.example.com"

const nobody = Layer.succeed(T.ResourceOwner, {
  current: () => Effect.succeed(Option.none()),
  signInAt: () => "/sign-in",
  profile: () => Effect.succeed(Option.none())
})

/** For authors who write Effect: an authorization server of layers, and a resource of its own behind the guard. */
export const ofLayers = (storage: Layer.Layer<T.Storage>): Server => {
  const workspace = { id: T.WorkspaceId.make("main"), issuer: T.Issuer.make(issuer), name: "Northwind" }
  const runtime = ManagedRuntime.make(
    T.Tessera.layer({ policy: { ...T.standardPolicy, workspaceAccess: "registered" } }).pipe(
      Layer.provide([T.Workspaces.layerOne(workspace), T.RegistrationPolicy.layerOpen, T.sharedLimits, nobody]),
      Layer.provide([storage, T.Keys.layer([T.sealKey(new Uint8Array(32).fill(7))]), T.Entropy.layer]),
      Layer.provide([T.Pages.layer(), T.Audit.layerNone])
    )
  )
  const orders = async ({ headers, method, url }: Request): Promise<Response> => {
    const { guard } = await runtime.runPromise(T.Tessera)
    const call = { method, path: new URL(url).pathname, query: "", headers, body: "" }
    const caller = await runtime.runPromise(guard(call, { scopes: ["api"] }))
    if (caller._tag === "Admitted") return Response.json({ orders: [], of: caller.principal._tag })
    const { body, status } = caller.response
    return new Response(body, { status, headers: Object.fromEntries(caller.response.headers) })
  }
  const authorization = ofFetch.handler(T.serveWith(runtime))
  const handle = async (request: Request): Promise<Response> =>
    request.url === `${issuer}/orders` ? orders(request) : authorization(request)
  return { issuer, handle, close: () => runtime.dispose() }
}
