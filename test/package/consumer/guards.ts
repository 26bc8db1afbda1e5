import type { Mount } from "tessera"
import type { Guard, IntrospectionFailure, Needs } from "tessera/guard"
import { elysiaGuard, expressGuard, fastifyGuard, fetchGuard, honoGuard, koaGuard, remoteGuard } from "tessera/guard"
import { fetchMount, honoMount } from "tessera/runtime/fetch"

const needs: Needs = { scopes: ["api"] }

export const failures: Array<IntrospectionFailure> = []

export const guard: Guard = remoteGuard({
  issuer: "https://auth.example.com",
  apiKey: "a key of the workspace's",
  resource: "https://api.example.com",
  onFailure: (failure) => failures.push(failure)
})

// A project that writes declarations has to find a name for the type of each of these.
export const onElysia = elysiaGuard(guard, needs)
export const onExpress = expressGuard(guard, needs)
export const onFastify = fastifyGuard(guard, needs)
export const onFetch = fetchGuard(guard, needs, () => new Response())
export const onHono = honoGuard(guard, needs)
export const onKoa = koaGuard(guard, needs)

export const mounts = (auth: Mount) => ({ fetch: fetchMount(auth), hono: honoMount(auth) })
