import { Clock, Effect, Layer, Logger, ManagedRuntime, Option, Result } from "effect"
import { layer as signatures } from "../../../adapters/jose/Signatures.ts"
import * as Memory from "../../../adapters/memory/Memory.ts"
import { json } from "../../../core/http/answer.ts"
import { type Endpoint, type Handler, page } from "../../../core/http/Route.ts"
import { endpoints } from "../../../core/oauth/endpoints/table.ts"
import { Audit } from "../../../core/ports/Audit.ts"
import { Entropy } from "../../../core/ports/Entropy.ts"
import { Limiter } from "../../../core/ports/Limiter.ts"
import { Pages } from "../../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner, type SignedIn } from "../../../core/ports/ResourceOwner.ts"
import { Workspaces } from "../../../core/ports/Workspaces.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { ResourceAddress } from "../../../core/rules/Resource.ts"
import { Tessera } from "../../../core/Tessera.ts"
import { drawFrom } from "../../../core/testing/Draw.ts"
import { stoppedClock } from "../../../core/testing/stoppedClock.ts"
import { Keys, sealKey } from "../../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { addressOf, WorkspaceTable } from "../../../core/workspace/WorkspaceTable.ts"

/** Says what reached the core, so that a runtime which changes anything on the way is found out. */
const echo: Handler = ({ request }) =>
  Effect.sync(() =>
    json(200, {
      method: request.method,
      path: request.path,
      query: request.query,
      body: request.body.length > 200 ? { length: request.body.length } : request.body,
      twice: request.headers.get("x-twice") ?? null,
      cookie: request.headers.get("cookie") ?? null,
      absent: request.headers.get("x-absent") ?? null,
      peer: request.peer ?? null
    })
  )

const cookies: Handler = () =>
  Effect.succeed({
    status: 303,
    headers: [
      ["location", "/test/echo"],
      ["set-cookie", "a=1; Path=/; HttpOnly"],
      ["set-cookie", "b=2; Path=/; Expires=Thu, 01 Jan 2032 00:00:00 GMT"]
    ],
    body: ""
  })

/** Answers in a later turn, as everything does that has to ask a store. */
const later: Handler = (call) => Effect.andThen(Effect.yieldNow, echo(call))

const empty: Handler = () => Effect.succeed({ status: 204, headers: [], body: "" })

const unicode: Handler = () =>
  Effect.succeed({ status: 200, headers: [["content-type", "text/plain; charset=utf-8"]], body: "Zoë €\u{1f511}" })

const route = (path: string, handler: Handler, match: Endpoint["match"] = "exact"): Endpoint => ({
  path,
  match,
  methods: {
    GET: page(() => handler),
    POST: page(() => handler),
    PUT: page(() => handler),
    DELETE: page(() => handler)
  },
  errors: "oauth",
  cors: false
})

const testRoutes = (reseed: (seed: string) => void) => [
  route("/test/echo", echo, "suffix"),
  route("/test/later", later),
  route("/test/cookies", cookies),
  route("/test/empty", empty),
  route("/test/unicode", unicode),
  // Scripts begin with this, so that those which a runtime leaves out change nothing for those behind them.
  route("/test/reseed", (call) => {
    reseed(call.request.query)
    return empty(call)
  })
]

const signedIn = (name: string): SignedIn => ({
  user: UserId.make(name),
  session: `session-of-${name}`,
  label: `${name}@example.com`,
  role: "member"
})

const people = Layer.succeed(ResourceOwner, {
  current: (_workspace, request) =>
    Effect.sync(() => {
      const [, name] = /(?:^|; )person=([a-z]+)/.exec(request.headers.get("cookie") ?? "") ?? []
      return name === undefined ? Option.none() : Option.some(signedIn(name))
    }),
  signInAt: (_workspace, returnTo) => `/login?return_to=${encodeURIComponent(returnTo)}`,
  profile: (_workspace, user) => Effect.succeedSome({ sub: user, name: "Zoë" })
})

const stopped = (millis: number) =>
  Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (real) => stoppedClock(real, millis))
  )

/** An API on an origin of its own, of the second workspace. */
export const elsewhere = ResourceAddress.make("https://tools.example/mcp")

/** The moment at which its clock stands. */
export const standsAt = Date.UTC(2031, 0, 1)

/** By its path alone: a workspace that lists nothing, and below it, at `/second`, one that lists an API elsewhere. */
export const workspacesAt = (issuer: string): ((path: string) => Workspace) => {
  const home = { id: WorkspaceId.make("home"), issuer: Issuer.make(issuer), name: "Example" }
  const second = {
    id: WorkspaceId.make("second"),
    issuer: Issuer.make(`${issuer}/second`),
    name: "Second",
    resources: [{ at: elsewhere, name: "Tools" }]
  }
  const table = Result.getOrThrow(WorkspaceTable.of([home, second]))
  const { host } = addressOf(home)
  return (path) => table.find(host, path) ?? home
}

/** The same draws and the same moment in every runtime, so that all answer with the very same bytes. */
export const app = (issuer: string) => {
  const find = workspacesAt(issuer)
  let draw = drawFrom("transcript")
  const routes = testRoutes((seed) => {
    draw = drawFrom(seed)
  })
  return ManagedRuntime.make(
    Tessera.layer({
      policy: { ...standardPolicy, workspaceAccess: "registered" },
      endpoints: [...routes, ...endpoints]
    }).pipe(
      Layer.provide([
        Memory.layer,
        signatures,
        Layer.succeed(Entropy, { bytes: (length) => Uint8Array.from({ length }, () => draw.below(256)) }),
        Keys.layer([sealKey(new Uint8Array(32).fill(1))]),
        Audit.layerNone,
        people,
        RegistrationPolicy.layerOpen,
        Pages.layer(),
        Limiter.layerNone,
        Layer.succeed(Workspaces, { resolve: ({ path }) => find(path) })
      ]),
      Layer.provideMerge(stopped(standsAt)),
      Layer.provideMerge(Logger.layer([]))
    )
  )
}
