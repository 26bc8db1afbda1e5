import { describe, expect, test } from "bun:test"
import { Context, Deferred, Effect, Layer, ManagedRuntime } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { goingAway, mountOf, mountOfMany, type Serve, serveWith } from "../../core/serve.ts"
import { Tessera } from "../../core/Tessera.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { header, jsonOf } from "../given/flow.ts"
import { inWorld, requestOf, theWorkspace, type World } from "../given/World.ts"

const asked = requestOf("GET", "/oauth/jwks", {})
const answerOf = (body: string): HttpResponse => ({ status: 200, headers: [], body })

/** A server that says which of its two ways was asked. */
const serverOf = (world: World, begin: Effect.Effect<HttpResponse>) =>
  Layer.effect(
    Tessera,
    Effect.yieldNow.pipe(
      Effect.as(
        Tessera.of({
          handle: () => Effect.succeed(answerOf("handle")),
          begin: () => begin,
          guard: () => Effect.die("not asked"),
          open: () => Effect.die("not asked"),
          routes: world.routes,
          services: world.services
        })
      )
    )
  )

const inServer = (
  begin: Effect.Effect<HttpResponse>,
  body: (serve: Serve, runtime: ManagedRuntime.ManagedRuntime<Tessera, never>) => Promise<void>,
  close: Effect.Effect<void> = Effect.void
) =>
  inWorld((world) =>
    Effect.promise(async () => {
      const closing = Layer.effectDiscard(Effect.addFinalizer(() => close))
      const runtime = ManagedRuntime.make(Layer.merge(serverOf(world, begin), closing))
      await body(serveWith(runtime), runtime)
      await runtime.dispose()
    })
  )

describe("a server as a plain function", () => {
  test("waits for its layers, and from then on answers at once what needs no waiting", () =>
    inServer(Effect.succeed(answerOf("begin")), async (serve) => {
      const first = serve(asked)
      expect(first).toBeInstanceOf(Promise)
      expect(await first).toEqual(answerOf("handle"))
      for (let again = 0; again < 2; again++) expect(serve(asked)).toEqual(answerOf("begin"))
    }))

  test("answers at once what a fiber has done before a request waits", () =>
    inServer(
      Effect.suspend(() => Effect.succeed(answerOf("begin"))),
      async (serve, runtime) => {
        await runtime.runPromise(Effect.void)
        expect(serve(asked)).toEqual(answerOf("begin"))
      }
    ))

  test("answers later what waits", async () => {
    const gate = Deferred.makeUnsafe<HttpResponse>()
    await inServer(Deferred.await(gate), async (serve, runtime) => {
      await runtime.runPromise(Effect.void)
      const later = serve(asked)
      expect(later).toBeInstanceOf(Promise)
      Deferred.doneUnsafe(gate, Effect.succeed(answerOf("later")))
      expect(await later).toEqual(answerOf("later"))
    })
  })

  test("what waits ends before the layers do, which wait for it", async () => {
    const ended: Array<string> = []
    const gate = Deferred.makeUnsafe<HttpResponse>()
    const waiting = Effect.ensuring(
      Deferred.await(gate),
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => void ended.push("request"))
      )
    )
    await inServer(
      waiting,
      async (serve, runtime) => {
        await runtime.runPromise(Effect.void)
        const later = serve(asked)
        await runtime.dispose()
        expect(await later).toBe(goingAway)
        expect(ended).toEqual(["request", "layers"])
      },
      Effect.sync(() => void ended.push("layers"))
    )
  })

  test("is going away where nothing can be said, at once or later, and never throws", () =>
    inServer(Effect.die("broken"), async (serve, runtime) => {
      await runtime.runPromise(Effect.void)
      expect(await serve(asked)).toBe(goingAway)
      await runtime.dispose()
      expect(await serve(asked)).toBe(goingAway)
      expect([goingAway.status, Context.isContext(runtime.cachedContext)]).toEqual([503, false])
      expect(jsonOf(goingAway).error).toBe("temporarily_unavailable")
      expect(header(goingAway, "retry-after")).toBe("1")
    }))
})

describe("a server that is mounted", () => {
  const acme: Workspace = { ...theWorkspace, id: WorkspaceId.make("acme"), issuer: Issuer.make("https://a.example/t") }
  const paths: ReadonlyArray<readonly [path: string, ofRoot: boolean, ofAcme: boolean]> = [
    ["/oauth/token", true, false],
    ["/t/oauth/token", false, true],
    ["/.well-known/oauth-authorization-server", true, false],
    ["/.well-known/oauth-authorization-server/t", true, true],
    ["/orders", false, false],
    ["/t/orders", false, false],
    ["/", false, false]
  ]

  test("owns its own paths, below its issuer's, and none of the app's", () =>
    inWorld((world) =>
      Effect.sync(() => {
        const serve: Serve = () => answerOf("")
        const [root, below] = [theWorkspace, acme].map((one) => mountOf(serve, one, world.routes))
        expect([root?.prefix, below?.prefix, root?.serve === serve, root?.routes === world.routes]).toEqual([
          "",
          "/t",
          true,
          true
        ])
        for (const [path, ofRoot, ofAcme] of paths) {
          expect([path, root?.owns(path), below?.owns(path)]).toEqual([path, ofRoot, ofAcme])
        }
      })
    ))

  test("of several workspaces, each by its host; where the store cannot say whose it is, what any of them has", () =>
    inWorld((world) =>
      Effect.sync(() => {
        const places: Readonly<Record<string, Workspace | "unknown">> = {
          "auth.example.com": theWorkspace,
          "a.example": acme,
          "slow.example": "unknown"
        }
        const looked: Array<string> = []
        const at = (host: string) => {
          looked.push(host)
          return places[host]
        }
        const mounted = mountOfMany(() => answerOf(""), at, world.routes)
        expect(mounted.prefix).toBeUndefined()
        for (const [path, ofRoot, ofAcme] of paths) {
          const owned = ["auth.example.com", "a.example", "slow.example", "other.example"].map((host) =>
            mounted.owns(path, host)
          )
          expect([path, ...owned]).toEqual([path, ofRoot, ofAcme, ofRoot, false])
        }
        looked.length = 0
        expect([mounted.owns("/oauth/token"), looked]).toEqual([false, [""]])
      })
    ))
})
