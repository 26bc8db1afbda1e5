import type { Mount } from "tessera"
import * as ofBun from "tessera/bun"
import * as ofFetch from "tessera/fetch"
import type { Guard, IntrospectionFailure, Needs } from "tessera/guard"
import { remoteGuard } from "tessera/guard"
import * as ofHono from "tessera/hono"

const needs: Needs = { scopes: ["api"] }

export const failures: Array<IntrospectionFailure> = []

export const guard: Guard = remoteGuard({
  issuer: "https://auth.example.com",
  apiKey: "a key of the workspace's",
  resource: "https://api.example.com",
  onFailure: (failure) => failures.push(failure)
})

// A project that writes declarations has to find a name for the type of each of these.
export const onBun = ofBun.guard(guard, needs, () => new Response())
export const onFetch = ofFetch.guard(guard, needs, () => new Response())
export const onHono = ofHono.guard(guard, needs)

export const mounts = (auth: Mount) => ({
  bun: ofBun.mount(auth),
  fetch: ofFetch.mount(auth),
  hono: ofHono.mount(auth)
})
