import { env } from "cloudflare:workers"
import { ManagedRuntime } from "effect"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { guard } from "../../runtimes/fetch.ts"
import { jwtGuard, remoteGuard } from "../../runtimes/guard.ts"
import type { Words } from "./workers.test.ts"

/** The test's own words, unchecked here. */
const { issuer, resource } = env as unknown as Words

const common = { issuer, apiKey: "key", resource, timeout: "1 second" } as const
/** Opened before any request, so that none waits for what another has begun. */
const seenProofs = ManagedRuntime.make(memory).runSync(Storage)

const needs = { scopes: ["api"] }
const answer = () => new Response("admitted")

const routes: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
  "/remote": guard(remoteGuard(common), needs, answer),
  "/one": guard(remoteGuard({ ...common, timeout: "500 millis", questionsAtOnce: 1 }), needs, answer),
  "/seen": guard(remoteGuard({ ...common, seenProofs }), needs, answer),
  "/keys": guard(jwtGuard({ issuer, resource }), needs, answer),
  "/standing": guard(jwtGuard(common), needs, answer)
}

export default {
  fetch: (request: Request): Response | Promise<Response> =>
    routes[new URL(request.url).pathname]?.(request) ?? new Response(null, { status: 404 })
}
